/**
 * Creates drums from oscillators and noise. Browsers allow no sound before the user has interacted with the
 * page.
 */
export function drums() {
  /** @type {AudioContext | null} */
  let audio = null
  let isOn = false
  let noise

  function envelope(gain, seconds) {
    const { currentTime } = audio
    const node = audio.createGain()
    node.gain.setValueAtTime(gain, currentTime)
    node.gain.exponentialRampToValueAtTime(0.001, currentTime + seconds)
    node.connect(audio.destination)
    return node
  }

  function tone(from, to, gain, seconds, type = 'sine') {
    const { currentTime } = audio
    const oscillator = audio.createOscillator()
    oscillator.type = type
    oscillator.frequency.setValueAtTime(from, currentTime)
    oscillator.frequency.exponentialRampToValueAtTime(to, currentTime + seconds)
    oscillator.connect(envelope(gain, seconds))
    oscillator.start()
    oscillator.stop(currentTime + seconds)
  }

  function hiss(above, gain, seconds) {
    const source = audio.createBufferSource()
    const filter = audio.createBiquadFilter()
    source.buffer = noise
    filter.type = 'highpass'
    filter.frequency.value = above
    source.connect(filter).connect(envelope(gain, seconds))
    source.start()
    source.stop(audio.currentTime + seconds)
  }

  function makeNoise() {
    const buffer = audio.createBuffer(1, audio.sampleRate / 2, audio.sampleRate)
    const samples = buffer.getChannelData(0)
    for (let i = 0; i < samples.length; i++) samples[i] = 2 * Math.random() - 1
    return buffer
  }

  const sounds = [
    () => tone(150, 45, 0.9, 0.25),
    () => {
      hiss(1500, 0.4, 0.15)
      tone(220, 140, 0.3, 0.1)
    },
    () => hiss(7000, 0.12, 0.05),
    () => tone(2200, 2000, 0.15, 0.06, 'triangle')
  ]

  return {
    /** @param {boolean} on */
    switch(on) {
      isOn = on
      if (on && !audio) {
        audio = new AudioContext({ latencyHint: 'interactive' })
        noise = makeNoise()
      }
      if (on) audio.resume()
      else audio?.suspend()
    },
    /** @param {number} voice */
    play(voice) {
      if (isOn && audio.state === 'running') sounds[voice]()
    }
  }
}
