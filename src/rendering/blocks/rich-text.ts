// Blocks as elements of a rich_text block: sections, lists, quotes, preformatted text.
import type { JsonObject } from '../../contract/index.ts'
import { tableAsCode } from '../table/table-as-code.ts'
import type { Block } from '../tree.ts'
import { type Place, quoteBorder } from './place.ts'
import { boldInline, richInline, textElement } from './rich-inline.ts'
import { listElements } from './rich-list.ts'

export function richElements(blocks: readonly Block[], place: Place): readonly JsonObject[] {
  return withoutSeams(blocks.flatMap((block) => blockToRichElements(block, place)))
}

function blockToRichElements(block: Block, place: Place): readonly JsonObject[] {
  switch (block.type) {
    case 'paragraph':
      return richParagraph(richInline(block.children, place.options), place)
    case 'heading':
      return richParagraph(boldInline(block.children, place.options), place)
    case 'blockquote':
      return richElements(block.children, { ...place, isQuoted: true })
    case 'list':
      return listElements(block, place, richElements)
    case 'code':
      return [preformatted(block.value, place)]
    case 'table':
      return richElements(tableAsCode(block), place)
    case 'thematicBreak':
      return richParagraph([textElement('———')], place)
    default:
      return block satisfies never
  }
}

function richParagraph(elements: readonly JsonObject[], { isQuoted }: Place): readonly JsonObject[] {
  return elements.length === 0 ? [] : [{ type: isQuoted ? 'rich_text_quote' : 'rich_text_section', elements }]
}

function preformatted(value: string, place: Place): JsonObject {
  const elements = [textElement(value === '' ? ' ' : value)]
  return { type: 'rich_text_preformatted', elements, ...quoteBorder(place) }
}

/** Neighbouring paragraphs are one element with an empty line in it, as the platform's own editor writes them. */
function withoutSeams(elements: readonly JsonObject[]): readonly JsonObject[] {
  const result: JsonObject[] = []
  let words: JsonObject[] = []
  let type: string | undefined
  const close = () => {
    if (type !== undefined) result.push({ type, elements: words })
    type = undefined
  }
  for (const element of elements) {
    const own = paragraphType(element)
    if (own === undefined || own !== type) close()
    if (own === undefined) result.push(element)
    else if (type === undefined) [type, words] = [own, [...childElements(element)]]
    else words.push(textElement('\n\n'), ...childElements(element))
  }
  close()
  return result
}

function paragraphType({ type }: JsonObject): string | undefined {
  return type === 'rich_text_section' || type === 'rich_text_quote' ? type : undefined
}

function childElements({ elements }: JsonObject): readonly JsonObject[] {
  return Array.isArray(elements) ? elements : []
}
