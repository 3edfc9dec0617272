// Posts in the small HTML that other servers keep when they sanitize it.
import { escapeHtml } from '../html/escape-html.ts'
import { blocksHtml, type HtmlFace } from '../html/write-html.ts'
import { safeUrl } from '../safe-url.ts'
import { tableAsList } from '../table/table-as-list.ts'
import type { Block, Inline } from '../tree.ts'

/** The profile of a person who may be notified; without one the name is only text. */
export type HrefOf = (name: string) => string | undefined

const ruleText = '———'

export function noteHtml(blocks: readonly Block[], hrefOf: HrefOf): string {
  return blocksHtml(blocks.map(boldHeading), createFace(hrefOf))
}

function createFace(hrefOf: HrefOf): HtmlFace {
  return {
    attributesOf: () => '',
    heading: (_, words) => `<p><strong>${words}</strong></p>`,
    link: ({ url }, label) =>
      `<a href="${escapeHtml(url)}" rel="nofollow noopener noreferrer" target="_blank">${label === '' ? escapeHtml(url) : label}</a>`,
    mention: (name) => mentionHtml(name, hrefOf(name)),
    table: (table, face) => blocksHtml([tableAsList(table)], face),
    rule: `<p>${ruleText}</p>`,
  }
}

function mentionHtml(name: string, href: string | undefined): string {
  const url = href === undefined ? undefined : safeUrl(href)
  if (url === undefined || !/^https?:/.test(url)) return escapeHtml(name)
  const words = `@<span>${escapeHtml(name.replace(/^@/, ''))}</span>`
  return `<span class="h-card"><a class="u-url mention" href="${escapeHtml(url)}">${words}</a></span>`
}

/** A heading is bold as a whole: a bold word in it needs no second mark. */
function boldHeading(block: Block): Block {
  return block.type === 'heading' ? { ...block, children: withoutStrong(block.children) } : block
}

function withoutStrong(children: readonly Inline[]): readonly Inline[] {
  return children.flatMap((node) => (node.type === 'strong' ? withoutStrong(node.children) : [node]))
}
