// Cleans text, names and file names: one Unicode form, and nothing that a database or a JSON reader would choke on.

const plainAscii = /^[\u0001-\u007f]*$/

// Marks that stand upon the letter before them; U+034F is one that keeps them apart.
const marks = /(?:(?!\u034f)\p{M}){30}(?=\p{M})(?!\u034f)/gu

/** NFC, without NUL; half a surrogate pair becomes the replacement character. */
export function cleanText(text: string): string {
  // Most text and every field name is plain, and plain text is clean.
  if (plainAscii.test(text)) return text
  return insertJoinerInLongMarkRuns(text.replaceAll('\u0000', '').toWellFormed()).normalize('NFC')
}

/**
 * The stream-safe form (UAX #15, 13): no letter has more than 30 marks. Marks are put into their order by a sort whose work is the square of how many
 * stand together: 128 KB of them kept the event loop for two seconds.
 */
function insertJoinerInLongMarkRuns(text: string): string {
  return text.replace(marks, '$&\u034f')
}

// Names people choose for themselves: shown to others, so they may neither hide nor turn text around.

const maxNameLength = 256

const whiteSpaceControls = /[\t\n\v\f\r\u0085\u2028\u2029]+/g
const otherControls = /[\u0000-\u001f\u007f-\u009f]/g
// Embeddings, overrides and isolates of UAX 9; the invisible marks that Hebrew and Arabic names need are kept.
const bidiControls = /[\u202a-\u202e\u2066-\u2069]/g

/** One line without control and direction-changing characters, at most 256 UTF-16 units, cut between graphemes. */
export function cleanName(name: string): string {
  const visible = name.replace(whiteSpaceControls, ' ').replace(otherControls, '').replace(bidiControls, '')
  const clean = cleanText(visible).trim()
  return clean.length <= maxNameLength ? clean : cutAtGrapheme(clean, maxNameLength).trimEnd()
}

function cutAtGrapheme(text: string, limit: number): string {
  let end = 0
  // Only the beginning is segmented: a megabyte of name must not cost a megabyte of work.
  for (const { index, segment } of new Intl.Segmenter('und').segment(text.slice(0, limit * 2))) {
    if (index + segment.length > limit) break
    end = index + segment.length
  }
  // A single grapheme longer than the limit is an attack on the layout; it is cut at a code point.
  return end > 0
    ? text.slice(0, end)
    : text
        .slice(0, limit)
        .toWellFormed()
        .replace(/\ufffd$/, '')
}

// A file's name for people to read. It is never part of a path, and nothing about it decides anything.

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

// Names that are compared must be seen as they are: nothing hidden in them, nothing at their ends.

const invisibleCharacter = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

export function hasOnlyVisibleCharacters(text: string): boolean {
  return text.trim() === text && !invisibleCharacter.test(text) && text.isWellFormed()
}

// Texts that people write into settings and flags.

/** What stands between commas, without blanks around it and without empty entries. */
export function splitCommaList(text: string | undefined): readonly string[] {
  return (text ?? '').split(',').flatMap((entry) => entry.trim() || [])
}
