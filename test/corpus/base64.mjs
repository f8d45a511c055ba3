import { bytes } from './inputs.mjs'

function base64(input) {
  var alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  var output = '', i = 0;
  for (; i + 2 < input.length; i += 3) {
    var group = input[i] << 16 | input[i + 1] << 8 | input[i + 2];
    output += alphabet.charAt(group >> 18) + alphabet.charAt(group >> 12 & 63) +
      alphabet.charAt(group >> 6 & 63) + alphabet.charAt(group & 63);
  }
  switch (input.length - i) {
    case 1:
      output += alphabet.charAt(input[i] >> 2) + alphabet.charAt(input[i] << 4 & 63) + '==';
      break;
    case 2:
      output += alphabet.charAt(input[i] >> 2) +
        alphabet.charAt((input[i] << 4 | input[i + 1] >> 4) & 63) +
        alphabet.charAt(input[i + 1] << 2 & 63) + '=';
  }
  return output;
}

export default {
  name: 'base64',
  kind: 'loop',
  fn: base64,
  inputs: size => [bytes(size)],
  sizes: [0, 1, 2, 3, 100],
  benchSize: 200_000
}
