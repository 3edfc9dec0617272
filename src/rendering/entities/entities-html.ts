// The same piece as HTML of the few tags such platforms know, for places that take no ranges and for asking a second opinion.
import { escapeHtml } from '../html/escape-html.ts'
import type { Entity, EntityPiece } from './entity.ts'

export function entitiesHtml({ text, entities }: EntityPiece): string {
  const open: Entity[] = []
  let html = ''
  let at = 0
  const upTo = (end: number) => {
    html += escapeHtml(text.slice(at, end))
    at = end
  }
  const closeUntil = (offset: number) => {
    for (let last = open.at(-1); last !== undefined && last.offset + last.length <= offset; last = open.at(-1)) {
      upTo(last.offset + last.length)
      html += closingTag(last)
      open.pop()
    }
  }
  for (const entity of entities) {
    closeUntil(entity.offset)
    upTo(entity.offset)
    html += entityOpeningTag(entity)
    open.push(entity)
  }
  closeUntil(text.length)
  upTo(text.length)
  return html
}

const tags = { bold: 'b', italic: 'i', strikethrough: 's', code: 'code', blockquote: 'blockquote' } as const

function entityOpeningTag(entity: Entity): string {
  switch (entity.type) {
    case 'text_link':
      return `<a href="${escapeHtml(entity.url)}">`
    case 'pre':
      return entity.language === undefined ? '<pre>' : `<pre><code class="language-${escapeHtml(entity.language)}">`
    default:
      return `<${tags[entity.type]}>`
  }
}

function closingTag(entity: Entity): string {
  if (entity.type === 'text_link') return '</a>'
  if (entity.type === 'pre') return entity.language === undefined ? '</pre>' : '</code></pre>'
  return `</${tags[entity.type]}>`
}
