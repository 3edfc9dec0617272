// The elements that are open at a place of a document, as a browser would have them, and never more than some.
import {
  type Attributes,
  computeVisibility,
  formattingTags,
  type ImpliedEnd,
  isShownToReader,
  listImpliedEndTags,
  plainLook,
  scopeTags,
  stopsEndTagSearch,
  type Visibility,
} from './visibility.ts'

/** `end` undoes what the element did to the text's layout. */
type OpenElement = {
  readonly name: string
  readonly look: Visibility
  readonly attributes: Attributes
  readonly end: () => void
}

export type OpenElements = {
  readonly stack: OpenElement[]
  readonly counts: Map<string, number>
  /** Below the deepest element that is followed, elements are only counted. One that hides then hides all of them. */
  readonly buried: Map<string, number>
  isBuriedHidden: boolean
}

const maxDepth = 256
const doNothing = () => {}
const hiddenLook: Visibility = { ...plainLook, isGone: true }

export function createOpenElements(): OpenElements {
  return { stack: [], counts: new Map(), buried: new Map(), isBuriedHidden: false }
}

export function currentVisibility(elements: OpenElements): Visibility {
  return elements.isBuriedHidden ? hiddenLook : (elements.stack.at(-1)?.look ?? plainLook)
}

/** `begin` is called with the new element's look and answers what to do at its end. */
export function openElement(
  elements: OpenElements,
  name: string,
  attributes: Attributes,
  begin: (look: Visibility) => () => void,
): void {
  if (elements.buried.size === 0) for (const implied of listImpliedEndTags(name)) endImpliedElements(elements, implied)
  const look = computeVisibility(currentVisibility(elements), name, attributes)
  if (elements.stack.length < maxDepth) {
    pushElement(elements, { name, look, attributes, end: begin(look) })
    return
  }
  elements.buried.set(name, (elements.buried.get(name) ?? 0) + 1)
  elements.isBuriedHidden ||= !isShownToReader(look)
}

/** Answers whether there was anything to close. */
export function closeElement(elements: OpenElements, name: string): boolean {
  if (elements.buried.size > 0) return closeElementBeyondDepthLimit(elements, name)
  if ((elements.counts.get(name) ?? 0) === 0) return false
  const at = findOpenElement(
    elements,
    (each) => each === name,
    (each) => stopsEndTagSearch(name, each),
  )
  if (at !== -1) closeElementsDownTo(elements, at)
  return at !== -1
}

function closeElementBeyondDepthLimit(elements: OpenElements, name: string): boolean {
  const count = elements.buried.get(name)
  if (count === undefined) return false
  if (count > 1) elements.buried.set(name, count - 1)
  else elements.buried.delete(name)
  if (elements.buried.size === 0) elements.isBuriedHidden = false
  return true
}

export function closeAllElements(elements: OpenElements): void {
  while (elements.stack.length > 0) popElement(elements)
}

function endImpliedElements(elements: OpenElements, { closes, within }: ImpliedEnd): void {
  let isOpen = false
  for (const name of closes) isOpen ||= (elements.counts.get(name) ?? 0) > 0
  if (!isOpen) return
  const at = findOpenElement(
    elements,
    (name) => closes.has(name),
    (name) => within.has(name),
  )
  if (at !== -1) closeElementsDownTo(elements, at)
}

function findOpenElement(
  { stack }: OpenElements,
  closes: (name: string) => boolean,
  stops: (name: string) => boolean,
): number {
  for (let at = stack.length - 1; at >= 0; at -= 1) {
    const name = stack[at]?.name ?? ''
    if (closes(name)) return at
    if (stops(name)) return -1
  }
  return -1
}

/** Formatting without an end tag goes on behind the block. Where it hides something, text must not slip out of it. */
function closeElementsDownTo(elements: OpenElements, at: number): void {
  let unended: OpenElement[] = []
  while (elements.stack.length > at + 1) {
    const element = popElement(elements)
    if (element === undefined) break
    if (scopeTags.has(element.name)) unended = []
    else if (formattingTags.has(element.name) && element.attributes.size > 0) unended.unshift(element)
  }
  const last = popElement(elements)
  if (last === undefined || scopeTags.has(last.name)) return
  for (const { name, attributes } of unended) {
    const look = computeVisibility(currentVisibility(elements), name, attributes)
    if (!isShownToReader(look)) pushElement(elements, { name, look, attributes, end: doNothing })
  }
}

function pushElement({ stack, counts }: OpenElements, element: OpenElement): void {
  stack.push(element)
  counts.set(element.name, (counts.get(element.name) ?? 0) + 1)
}

function popElement({ stack, counts }: OpenElements): OpenElement | undefined {
  const element = stack.pop()
  if (element === undefined) return undefined
  counts.set(element.name, (counts.get(element.name) ?? 1) - 1)
  element.end()
  return element
}
