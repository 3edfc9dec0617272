// Addresses for people's eyes: punycode labels are shown in Unicode, unless that would help a look-alike.
import type { Address } from './address.ts'

/** `@local@domain` with a readable domain. Never compare or store what this returns. */
export function displayAddress(address: Address): string {
  return `@${address.local}@${address.domain.split('.').map(displayLabel).join('.')}`
}

function displayLabel(label: string): string {
  if (!label.startsWith('xn--')) return label
  const unicode = decodePunycode(label.slice(4))
  if (unicode === undefined || mixesScripts(unicode)) return label
  // The URL parser has the last word: what it would not encode back to this label is not shown.
  return URL.canParse(`http://${unicode}.example/`) &&
    new URL(`http://${unicode}.example/`).hostname === `${label}.example`
    ? unicode
    : label
}

/** Latin letters beside Cyrillic or Greek ones are how a familiar name is imitated. */
function mixesScripts(text: string): boolean {
  const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u]
  return scripts.filter((script) => script.test(text)).length > 1
}

/** RFC 3492 section 6.2 with the parameters of section 5. */
function decodePunycode(text: string): string | undefined {
  const split = text.lastIndexOf('-')
  const output = split > 0 ? [...text.slice(0, split)].map((letter) => letter.charCodeAt(0)) : []
  let position = split > 0 ? split + 1 : 0
  let codePoint = 128
  let bias = 72
  let index = 0
  while (position < text.length) {
    const before = index
    for (let weight = 1, step = 36; ; step += 36) {
      const digit = punycodeDigit(text.charCodeAt(position))
      position += 1
      if (digit === undefined) return undefined
      index += digit * weight
      const threshold = Math.min(Math.max(step - bias, 1), 26)
      if (digit < threshold) break
      weight *= 36 - threshold
      if (index > 0x7fffffff) return undefined
    }
    const length = output.length + 1
    bias = adapt(index - before, length, before === 0)
    codePoint += Math.floor(index / length)
    index %= length
    if (codePoint > 0x10ffff) return undefined
    output.splice(index, 0, codePoint)
    index += 1
  }
  return String.fromCodePoint(...output)
}

function adapt(difference: number, length: number, isFirst: boolean): number {
  let delta = isFirst ? Math.floor(difference / 700) : Math.floor(difference / 2)
  delta += Math.floor(delta / length)
  let steps = 0
  for (; delta > 455; steps += 36) delta = Math.floor(delta / 35)
  return steps + Math.floor((36 * delta) / (delta + 38))
}

function punycodeDigit(code: number): number | undefined {
  if (code >= 48 && code <= 57) return code - 22
  return code >= 97 && code <= 122 ? code - 97 : undefined
}
