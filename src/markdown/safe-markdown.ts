// Markdown for programs that read it: as its author wrote it. Only a block that leads where no reader should be sent is written anew, so
// that everything else keeps every character.

import { safeUrl } from './links.ts'
import { readBlocks } from './parse.ts'
import type { Building } from './parse-inline.ts'
import { getFootnoteNumbers, markdownTokens, type Token } from './parser-rules.ts'
import { cleanTextForDisplay, plainTextToBlocks } from './plain-tree.ts'
import type { Block } from './tree.ts'
import { writeMarkdown } from './write.ts'

// An address stands behind a label, in a definition or in angle brackets; without any of these there is none to judge.
const mayLead = /\][(:]|<[a-z][a-z\d+.-]{1,31}:/i

/** Links of other protocols lose their address, pictures from elsewhere become links: no reader fetches one because a model named it. */
export function safeMarkdown(text: string): string {
  const clean = cleanTextForDisplay(text)
  if (!mayLead.test(clean)) return clean
  const env: Record<string, unknown> = {}
  const pieces = groupTokensByTopLevelBlock(markdownTokens(clean, env)).filter(({ tokens }) =>
    tokens.some(hasUnsafeLink),
  )
  if (pieces.length === 0) return clean
  const building: Building = { mayNotify: new Set(), notes: getFootnoteNumbers(env), used: new Set() }
  const lines = clean.split('\n')
  const written: string[] = []
  let next = 0
  for (const { start, end, tokens } of pieces) {
    const children = tokensToBlocks(tokens, building) ?? plainTextToBlocks(lines.slice(start, end).join('\n'))
    written.push(...lines.slice(next, start), writeMarkdown({ type: 'root', children }))
    next = end
    // Empty lines behind a block are not its own.
    while (next > start + 1 && lines[next - 1]?.trim() === '') next -= 1
  }
  return [...written, ...lines.slice(next)].join('\n')
}

/** A block of the text itself: its lines, and what was read of them. */
type Piece = { readonly start: number; readonly end: number; readonly tokens: Token[] }

function groupTokensByTopLevelBlock(tokens: readonly Token[]): readonly Piece[] {
  const pieces: Piece[] = []
  for (const token of tokens) {
    if (token.level === 0 && token.nesting >= 0 && token.map !== null)
      pieces.push({ start: token.map[0], end: token.map[1], tokens: [] })
    pieces.at(-1)?.tokens.push(token)
  }
  return pieces
}

/** Undefined: it is no block, as a note, or it was not read. */
function tokensToBlocks(tokens: readonly Token[], building: Building): readonly Block[] | undefined {
  const blocks: Block[] = []
  let isRead = true
  readBlocks(tokens, building, {
    block: (block) => blocks.push(block) > 0,
    rest: () => {
      isRead = false
    },
    note: () => {
      isRead = false
    },
    definition: () => {},
  })
  return isRead ? blocks : undefined
}

const definition = /^[ \t>]*\[(?:[^\\[\]]|\\.){1,999}\]:\s*<?([^\s>]+)/gm

function hasUnsafeLink({ type, content, children }: Token): boolean {
  // Behind what is read as blocks, and in a text of little else than marks, it is not known what others make of it.
  if (type === 'rest') return true
  if (type !== 'inline') return false
  if (children === null) return mayLead.test(content)
  if (children.some(isUnsafeLink)) return true
  return [...content.matchAll(definition)].some(([, address = '']) => !isHarmlessAddress(address))
}

function isUnsafeLink(token: Token): boolean {
  if (token.type === 'link_open') return !isSafeLinkAddress(String(token.attrGet('href') ?? ''))
  if (token.type !== 'image') return false
  return !isRelativeAddress(String(token.attrGet('src') ?? '')) || (token.children ?? []).some(isUnsafeLink)
}

function isSafeLinkAddress(address: string): boolean {
  return isRelativeAddress(address) || safeUrl(address) !== undefined
}

/** Of the place where it is read. A browser passes over blanks before it looks for a protocol. */
function isRelativeAddress(address: string): boolean {
  return !/^(?:[a-z][a-z\d+.-]*:|[/\\]{2})/i.test(stripControlsAndSpaces(address))
}

function stripControlsAndSpaces(address: string): string {
  return address.replace(/[\u0000-\u0020]+/g, '')
}

/** As it stands in a definition, where characters may be written as references. */
function isHarmlessAddress(written: string): boolean {
  return safeUrl(written) !== undefined || (isRelativeAddress(written) && !/[&\\]/.test(written))
}
