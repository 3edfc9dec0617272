// Mentions of agents in text: `@agent` and `@agent@domain`. Nothing in code, in a word or in a mail address counts.
import { parseAddress } from '../../contract/index.ts'

export type TextMention = {
  /** As written, with its `@`. */
  readonly text: string
  readonly local: string
  /** In wire form; absent for a bare handle. */
  readonly domain?: string
  /** Whether nothing but other mentions stands before it. */
  readonly isLeading: boolean
}

/** Text beyond this is not searched: the addressed agent is named near the beginning. */
const maxSearched = 16_384
const maxMentions = 64

// A fence, to its end or the text's; or a span between equal runs of backticks within a paragraph, as CommonMark has it.
const fence = /^ {0,3}(`{3,}|~{3,})[^\n]*(?:[\s\S]*?\n {0,3}\1[^\n]*(?=\n|$)|[\s\S]*)/gm
const span = /(?<!`)(`+)(?!`)(?:[^\n]|\n(?![ \t]*\n))*?(?<!`)\1(?!`)/g
const before = /(?<![\p{L}\p{N}\p{M}_@.+\-/\\=:&#%])/u
const name = /@([A-Za-z0-9](?:[\w.-]{0,62}\w)?)/
const host = /(?:@([\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,251}[\p{L}\p{N}])?))?/u
const after = /(?![\p{L}\p{N}\p{M}_@/\\])/u
const handle = new RegExp(before.source + name.source + host.source + after.source, 'gu')

/**
 * The text with its code replaced by a sign that is in no name and before no mention: code counts as something said, and
 * becomes part of nothing. As long as the text; beyond what is searched, code is not looked for.
 */
export function hideCode(text: string): string {
  const maskCode = (hidden: string) => '#'.repeat(hidden.length)
  return text.slice(0, maxSearched).replace(fence, maskCode).replace(span, maskCode) + text.slice(maxSearched)
}

export function mentionsIn(text: string): readonly TextMention[] {
  const searched = hideCode(text.slice(0, maxSearched))
  const mentions: TextMention[] = []
  let end = 0
  let isLeading = true
  for (const match of searched.matchAll(handle)) {
    if (mentions.length === maxMentions) break
    const [written, local = '', given] = match
    isLeading &&= /^[\s,]*$/.test(searched.slice(end, match.index))
    end = match.index + written.length
    const domain = given === undefined ? undefined : parseAddress(`${local}@${given}`)?.domain
    // A domain that is none makes the whole of it plain text.
    if (given !== undefined && domain === undefined) continue
    mentions.push({ text: written, local, ...(domain === undefined ? {} : { domain }), isLeading })
  }
  return mentions
}
