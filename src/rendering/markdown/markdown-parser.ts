// The parser, made on first use and shared: CommonMark with tables, strikethrough and footnotes, and no HTML.
import createMarkdownIt, { type MarkdownIt } from 'markdown-it'
import { changeBlockRules } from './block-rules.ts'
import { addFootnotes } from './footnotes.ts'
import { changeInlineRules } from './inline-rules.ts'

export type Token = ReturnType<MarkdownIt['parse']>[number]

let shared: MarkdownIt | undefined

/** Tokens of a text; `env` receives what is known about it as a whole. */
export function markdownTokens(text: string, env: Record<string, unknown>): readonly Token[] {
  shared ??= createParser()
  return shared.parse(text, env)
}

function createParser(): MarkdownIt {
  const md = createMarkdownIt({ html: false, linkify: false })
  // Addresses are judged when the tree is built: a refused one must cost its link, never its label.
  md.validateLink = () => true
  md.normalizeLink = (url) => url
  md.normalizeLinkText = (text) => text
  changeBlockRules(md)
  changeInlineRules(md)
  addFootnotes(md)
  // Their work is done while the tree is built, or there is none.
  md.core.ruler.disable(['normalize', 'strip_references', 'linkify', 'replacements', 'smartquotes', 'text_join'])
  md.block.ruler.disable('html_block')
  md.core.ruler.at('inline', (state) => {
    for (const token of state.tokens) {
      if (token.type === 'inline') parseInline(md, token, state.env)
    }
  })
  return md
}

// Longer than this, and made of little else than marks: such text is no formatting, and its cost would not be linear.
const suspiciousLength = 2000
const maxBrackets = 1000

// Without any of these there is nothing to read but words.
const inlineMarks = /[\\`*_~[<&]|:\/\//

/** Without children a token is its words. */
function parseInline(md: MarkdownIt, token: Token, env: Record<string, unknown>): void {
  const children = token.children ?? []
  const isNoise = token.content.length > suspiciousLength && isMadeOfMarks(token.content)
  if (isNoise || !inlineMarks.test(token.content)) token.children = null
  else md.inline.parse(token.content, md, env, children)
}

function isMadeOfMarks(text: string): boolean {
  let brackets = 0
  let marks = 0
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit === 0x5b) brackets += 1
    else if (unit === 0x2a || unit === 0x5f || unit === 0x60 || unit === 0x7e || unit === 0x26) marks += 1
  }
  return brackets > maxBrackets || marks * 3 > text.length
}
