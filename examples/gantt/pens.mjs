import { paints } from './drawing.mjs'

/** @typedef {import('./drawing.mjs').Pen} Pen */

/**
 * Returns a pen for a canvas.
 * @param {CanvasRenderingContext2D} context scaled to CSS pixels
 * @param {(paint: string) => string} colorOf
 * @returns {Pen}
 */
export function canvasPen(context, colorOf) {
  let fill = ''
  let alpha = 1
  const use = (paint, opacity) => {
    const color = colorOf(paint)
    if (color !== fill) context.fillStyle = fill = color
    if (opacity !== alpha) context.globalAlpha = alpha = opacity
  }
  context.textBaseline = 'middle'
  return {
    box(x, y, width, height, paint, opacity = 1) {
      use(paint, opacity)
      context.fillRect(x, y, width, height)
    },
    lines(lines, paint, width = 1) {
      if (alpha !== 1) context.globalAlpha = alpha = 1
      context.strokeStyle = colorOf(paint)
      context.lineWidth = width
      context.beginPath()
      for (const [x1, y1, x2, y2] of lines) {
        context.moveTo(x1, y1)
        context.lineTo(x2, y2)
      }
      context.stroke()
    },
    arrowHead(x, y, height, paint) {
      use(paint, 1)
      context.beginPath()
      context.moveTo(x, y)
      context.lineTo(x - 3, y + height)
      context.lineTo(x + 3, y + height)
      context.fill()
    },
    text(text, x, y, paint, align = 'left', bold = false) {
      use(paint, 1)
      context.font = `${bold ? '600 12px' : '11px'} system-ui, sans-serif`
      context.textAlign = align
      context.fillText(text, x, y)
    },
    within(x, y, width, height, draw) {
      context.save()
      context.beginPath()
      context.rect(x, y, width, height)
      context.clip()
      draw()
      context.restore()
      // restore() resets the style, so the cached values are invalid.
      fill = ''
      alpha = NaN
    }
  }
}

const anchors = { left: 'start', center: 'middle', right: 'end' }
const number = value => String(Math.round(value * 100) / 100)
const attribute = (name, value) => value === undefined ? '' : ` ${name}="${escapeXml(String(value))}"`

/** Escapes a text, and replaces characters that XML forbids. @param {string} text */
export function escapeXml(text) {
  return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`)
}

/**
 * Returns a pen that writes SVG. A named paint becomes a class, so that its colour follows the viewer's
 * scheme.
 * @returns {{ pen: Pen, text(): string }}
 */
export function svgPen() {
  const parts = []
  const paintOf = paint => paint in paints.light
    ? { class: `rt-${paint}`, color: 'currentColor' }
    : { class: undefined, color: paint }
  const element = (name, attributes, content) => {
    const list = Object.entries(attributes)
      .map(([name, value]) => attribute(name, typeof value === 'number' ? number(value) : value)).join('')
    const inside = content === undefined ? '/>' : `>${escapeXml(content)}</${name}>`
    parts.push(`<${name}${list}${inside}`)
  }
  /** @type {Pen} */
  const pen = {
    box(x, y, width, height, paint, opacity = 1) {
      const { class: name, color } = paintOf(paint)
      element('rect', {
        class: name, x, y, width, height, fill: color, 'fill-opacity': opacity === 1 ? undefined : opacity
      })
    },
    lines(lines, paint, width = 1) {
      const { class: name, color } = paintOf(paint)
      const d = lines.map(line => line.map(number))
        .map(([x1, y1, x2, y2]) => `M${x1} ${y1}L${x2} ${y2}`).join('')
      element('path', { class: name, d, stroke: color, 'stroke-width': width })
    },
    arrowHead(x, y, height, paint) {
      const { class: name, color } = paintOf(paint)
      const [tip, left, right, top, base] = [x, x - 3, x + 3, y, y + height].map(number)
      element('path', { class: name, d: `M${tip} ${top}L${left} ${base}L${right} ${base}z`, fill: color })
    },
    text(text, x, y, paint, align = 'left', bold = false) {
      const { class: name, color } = paintOf(paint)
      element('text', {
        class: name, x, y: y + 4, fill: color, 'font-size': bold ? 12 : 11,
        'font-weight': bold ? 600 : undefined, 'text-anchor': align === 'left' ? undefined : anchors[align]
      }, text)
    },
    within(x, y, width, height, draw) {
      const [left, top, wide, high] = [x, y, width, height].map(number)
      // The id encodes the rectangle: pictures in one document share an id only if the rectangle is the same.
      const id = `rt-${[left, top, wide, high].join('-')}`
      const place = `<rect x="${left}" y="${top}" width="${wide}" height="${high}"/>`
      parts.push(`<clipPath id="${id}">${place}</clipPath><g clip-path="url(#${id})">`)
      draw()
      parts.push('</g>')
    }
  }
  return { pen, text: () => parts.join('\n') }
}

/** Returns the CSS rules for the classes of an SVG. @param {'light' | 'dark' | 'auto'} scheme */
export function svgStyle(scheme) {
  const rules = colors =>
    Object.entries(colors).map(([name, color]) => `.rt-${name}{color:${color}}`).join('')
  if (scheme !== 'auto') return rules(paints[scheme])
  return `${rules(paints.light)}@media(prefers-color-scheme:dark){${rules(paints.dark)}}`
}
