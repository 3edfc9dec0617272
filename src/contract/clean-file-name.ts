// A file's name for people to read. It is never part of a path, and nothing about it decides anything.
import { cleanText } from './clean-text.ts'

const maxLength = 200
const separators = /[/\\\u2215\u2044\u29f8\uff0f\uff3c:]/
// What turns text around, hides in it or has no width: a name may not show another ending than it has.
const invisible = /[\p{Cf}\p{Zl}\p{Zp}\p{Cc}]/gu
const notInNames = /["<>|?*]/g
/** Under these names Windows opens a device, whatever the ending. */
const devices = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i

/** Null: nothing of it can be shown. */
export function cleanFileName(name: string | undefined): string | null {
  if (name === undefined) return null
  const last =
    name
      .slice(-4 * maxLength)
      .split(separators)
      .findLast((segment) => segment.trim() !== '') ?? ''
  const shown = cleanText(
    last
      .replace(/[\r\n\t]+/g, ' ')
      .replace(invisible, '')
      .replace(notInNames, '_'),
  )
  const plain = shown.replace(/^[.\s]+/, '').replace(/[.\s]+$/, '')
  return plain === '' ? null : shortenFileName(plain.replace(devices, '_$&'))
}

/** The ending says more than the middle, so it stays. */
function shortenFileName(name: string): string {
  if (name.length <= maxLength) return name
  const ending = /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? ''
  const front = name.slice(0, maxLength - ending.length).replace(/[\ud800-\udbff]$/, '')
  return `${front.replace(/[.\s]+$/, '')}${ending}`
}
