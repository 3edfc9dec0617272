// Names people choose for themselves: shown to others, so they may neither hide nor turn text around.
import { cleanText } from './clean-text.ts'

const maxNameLength = 256

const whiteSpaceControls = /[\t\n\v\f\r\u0085\u2028\u2029]+/g
const otherControls = /[\u0000-\u001f\u007f-\u009f]/g
// Embeddings, overrides and isolates of UAX 9; the invisible marks that Hebrew and Arabic names need are kept.
const bidiControls = /[\u202a-\u202e\u2066-\u2069]/g

/** One line without control and direction-changing characters, at most 256 UTF-16 units, cut between graphemes. */
export function cleanName(name: string): string {
  const visible = name.replace(whiteSpaceControls, ' ').replace(otherControls, '').replace(bidiControls, '')
  return cutAtGrapheme(cleanText(visible).trim(), maxNameLength).trimEnd()
}

function cutAtGrapheme(text: string, limit: number): string {
  if (text.length <= limit) return text
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
