// Lists as the platform has them: flat lists one after another, each with its level and the number it starts from.
import type { JsonObject } from '../../contract/index.ts'
import type { Block, List, ListItem } from '../tree.ts'
import { limits } from './limits.ts'
import { type Place, quoteBorder } from './place.ts'
import { boldInline, richInline, textElement } from './rich-inline.ts'

type RenderInside = (blocks: readonly Block[], place: Place) => readonly JsonObject[]

export function listElements(list: List, place: Place, renderInside: RenderInside): readonly JsonObject[] {
  const result: JsonObject[] = []
  let open: { readonly first: number; readonly items: JsonObject[] } | undefined
  const close = () => {
    if (open !== undefined) result.push(listElement(list, place, open))
    open = undefined
  }
  list.children.forEach((item, index) => {
    const { lead, rest } = parted(item)
    open ??= { first: index, items: [] }
    open.items.push(itemElement(lead, richListMarker(list, item, index), place))
    if (rest.length === 0) return
    // Nothing nests in the platform's list: it ends, and goes on counting after what stands inside this item.
    close()
    result.push(...renderInside(rest, { ...place, indent: place.indent + 1 }))
  })
  close()
  return result
}

type Open = { readonly first: number; readonly items: readonly JsonObject[] }

function listElement(list: List, place: Place, { first, items }: Open): JsonObject {
  const offset = list.start - 1 + first
  return {
    type: 'rich_text_list',
    style: isCounted(list) ? 'ordered' : 'bullet',
    indent: Math.min(place.indent, limits.indent),
    elements: items,
    ...(isCounted(list) && offset > 0 ? { offset } : {}),
    ...quoteBorder(place),
  }
}

/** The platform counts from one; a list from zero gets its numbers as text. */
function isCounted(list: List): boolean {
  return list.ordered && list.start >= 1
}

function richListMarker(list: List, { checked }: ListItem, index: number): string {
  const number = list.ordered && !isCounted(list) ? `${list.start + index}. ` : ''
  if (checked === null) return number
  return `${number}${checked ? '☑' : '☐'} `
}

/** The item's own line, and what has to follow the list. */
function parted({ children }: ListItem): { readonly lead: readonly Block[]; readonly rest: readonly Block[] } {
  const end = children.findIndex(({ type }) => type !== 'paragraph' && type !== 'heading')
  return end === -1 ? { lead: children, rest: [] } : { lead: children.slice(0, end), rest: children.slice(end) }
}

function itemElement(lead: readonly Block[], marker: string, { options }: Place): JsonObject {
  const lines = lead.map((block) => {
    if (block.type === 'paragraph') return richInline(block.children, options)
    return block.type === 'heading' ? boldInline(block.children, options) : []
  })
  const words = lines.flatMap((line, index) => (index === 0 ? line : [textElement('\n'), ...line]))
  const elements = marker === '' ? words : [textElement(marker), ...words]
  return { type: 'rich_text_section', elements: elements.length === 0 ? [textElement(' ')] : elements }
}
