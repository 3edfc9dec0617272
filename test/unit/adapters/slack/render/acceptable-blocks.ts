// What the platform would refuse about a message, in words.

import type { BlocksMessage } from '../../../../../adapters/slack/render/blocks.ts'
import type { Json, JsonObject } from '../../../../../src/lib/json-value.ts'

export function refusals({ text, blocks }: BlocksMessage): readonly string[] {
  const found: string[] = []
  const must = (isFine: boolean, what: string) => void (isFine || found.push(what))
  must(text.trim() !== '' && text.length <= 4000, 'text')
  must(blocks.length >= 1 && blocks.length <= 50, `${blocks.length} blocks`)
  must(shownIn(blocks).join('').length <= 12_000, 'characters')
  must(blocks.filter((block) => block['type'] === 'table').length <= 1, 'tables')
  for (const node of nodesIn(blocks)) {
    const words = node['text']
    must(words !== '', 'empty text')
    must(node['type'] !== 'link' || (isString(node['url']) && isString(words)), 'link')
    must(!isElements(node) || listIn(node, 'elements').length > 0, `empty ${String(node['type'])}`)
    if (node['type'] === 'header') must(String(textIn(node)).length <= 150, 'header')
    if (node['type'] === 'rich_text_list') must(Number(node['indent']) <= 8 && Number(node['offset'] ?? 1) > 0, 'list')
    if (node['type'] === 'table') {
      const rows = listIn(node, 'rows')
      must(rows.length <= 100 && rows.every((row) => Array.isArray(row) && row.length <= 20), 'table size')
      must(shownIn(node).join('').length <= 10_000, 'table characters')
    }
  }
  return found
}

/** All words people see. */
function shownIn(json: Json): readonly string[] {
  return nodesIn(json).flatMap((node) => [node['text'], node['url']].filter(isString))
}

export function wordsIn(json: Json): string {
  return nodesIn(json)
    .flatMap((node) => (isString(node['text']) ? [node['text']] : []))
    .join(' ')
}

export function nodesIn(json: Json): readonly JsonObject[] {
  if (json === null || typeof json !== 'object') return []
  if (Array.isArray(json)) return json.flatMap((item: Json) => nodesIn(item))
  const node = json as JsonObject
  return [node, ...Object.values(node).flatMap(nodesIn)]
}

function isElements(node: JsonObject): boolean {
  return String(node['type']).startsWith('rich_text')
}

function textIn(node: JsonObject): Json | undefined {
  const text = node['text']
  return text !== null && typeof text === 'object' && !Array.isArray(text) ? (text as JsonObject)['text'] : undefined
}

function listIn(node: JsonObject, key: string): readonly Json[] {
  const list = node[key]
  return Array.isArray(list) ? list : []
}

function isString(value: unknown): value is string {
  return typeof value === 'string'
}
