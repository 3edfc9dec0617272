// The HTML half of a mail: a whole document, styled in place, that loads nothing from anywhere.
import { escapeHtml } from '../html/escape-html.ts'
import { blocksHtml, element, type HtmlFace, inlineHtml } from '../html/write-html.ts'
import type { Root, Table } from '../tree.ts'

const border = '1px solid #d0d7de'
const styles: Readonly<Record<string, string>> = {
  p: 'margin:0 0 1em',
  blockquote: 'margin:0 0 1em;padding-left:1em;border-left:3px solid #d0d7de;color:#57606a',
  pre: `margin:0 0 1em;padding:.75em;background:#f6f8fa;border:${border};white-space:pre-wrap;font-family:monospace`,
  code: 'background:#f6f8fa;font-family:monospace;white-space:pre-wrap',
  ul: 'margin:.5em 0;padding-left:2em',
  ol: 'margin:.5em 0;padding-left:2em',
  table: 'margin:0 0 1em;border-collapse:collapse',
}
const cellStyle = `padding:.25em .75em;border:${border}`

const face: HtmlFace = {
  attributesOf: (tag) => (styles[tag] === undefined ? '' : ` style="${styles[tag]}"`),
  heading: ({ depth }, words) => `<h${depth} style="margin:1em 0 .5em">${words}</h${depth}>`,
  link: ({ url }, label) =>
    `<a href="${escapeHtml(url)}" rel="noopener noreferrer">${label === '' ? escapeHtml(url) : label}</a>`,
  // A name in a mail notifies no recipient.
  mention: escapeHtml,
  table: tableHtml,
  rule: `<hr style="border:0;border-top:${border}">`,
}

/** `lang` of the words, where it is known. */
export function mailHtml(root: Root, lang?: string): string {
  const body = `<body style="font-family:sans-serif;line-height:1.5">${blocksHtml(root.children, face)}</body>`
  const language = lang === undefined ? '' : ` lang="${escapeHtml(lang)}"`
  return `<!DOCTYPE html>\n<html${language}><head><meta charset="utf-8"></head>${body}</html>\n`
}

function tableHtml(table: Table): string {
  const rows = table.children.map(({ children }, row) => {
    const tag = row === 0 ? 'th' : 'td'
    const cells = children.map((cell, column) => {
      const style = `${cellStyle};text-align:${table.align[column] ?? 'left'}`
      return `<${tag} style="${style}">${inlineHtml(cell.children, face)}</${tag}>`
    })
    return `<tr>${cells.join('')}</tr>`
  })
  return element('table', `<tbody>${rows.join('')}</tbody>`, face)
}
