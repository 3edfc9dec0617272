// What the tags of HTML mean for text: which stand on lines of their own, which say nothing, which close which.

function elementNames(list: string): ReadonlySet<string> {
  return new Set(list.split(/\s+/))
}

/** They never hold anything. */
export const voidTags = elementNames('area base br col embed hr img input link meta param source track wbr')

/** Programs, styles, controls, other documents: the tokenizer reads to their end tag, and nothing in them is a message. */
export const rawTags = elementNames('script style title textarea iframe noembed noframes xmp plaintext')

/** What they hold is no message either: choices, foreign languages, things that only a browser can show. */
export const silentTags = elementNames(
  `frame frameset noscript template object applet svg select datalist audio video canvas xml
   annotation annotation-xml mphantom`,
)

/** Formulas (MathML Core). */
export const mathTags = elementNames(
  `math semantics mrow mi mn mo mtext ms mspace mfrac msqrt mroot msup msub msubsup munder mover munderover mtable mtr mtd
   mstyle mpadded merror`,
)

/** A blank line around them. */
export const spacedTags = elementNames(
  'p h1 h2 h3 h4 h5 h6 ul ol menu dir dl blockquote pre listing table figure fieldset',
)

/** A line of their own. */
export const lineTags = elementNames(
  `div section article header footer main nav aside address center details summary dialog form figcaption legend hgroup
   li dt dd tr caption body html optgroup option`,
)

const tableTags = elementNames('table caption thead tbody tfoot tr td th')
const otherSpecialTags = elementNames('button object template marquee applet td th thead tbody tfoot')

/** An ordinary end tag does not reach through these to an element around them. */
function isSpecial(name: string): boolean {
  return spacedTags.has(name) || lineTags.has(name) || otherSpecialTags.has(name)
}

/** Nothing inside of these ends, or is opened again, outside of them. */
export const scopeTags = elementNames('table td th caption object template applet marquee html')

/** They end where they are told to, also through blocks, and go on in the next block when no end tag came. */
export const formattingTags = elementNames('a b big code em font i nobr s small strike strong tt u')

/** Which open element ends when this one begins, and how far up to look for it. */
export type ImpliedEnd = { readonly closes: ReadonlySet<string>; readonly within: ReadonlySet<string> }

const paragraph: ImpliedEnd = {
  closes: elementNames('p'),
  within: elementNames('table td th caption object template button'),
}
const item: ImpliedEnd = { closes: elementNames('li'), within: elementNames('ul ol menu dir table td th') }
const term: ImpliedEnd = { closes: elementNames('dt dd'), within: elementNames('dl table td th') }
const cell: ImpliedEnd = { closes: elementNames('td th caption'), within: elementNames('tr table') }
const row: ImpliedEnd = { closes: elementNames('tr caption'), within: elementNames('table') }
const rows: ImpliedEnd = { closes: elementNames('thead tbody tfoot caption'), within: elementNames('table') }
const link: ImpliedEnd = { closes: elementNames('a'), within: scopeTags }
const choice: ImpliedEnd = { closes: elementNames('option'), within: elementNames('select datalist') }

const special: Readonly<Record<string, readonly ImpliedEnd[]>> = {
  li: [paragraph, item],
  dt: [paragraph, term],
  dd: [paragraph, term],
  td: [cell],
  th: [cell],
  tr: [cell, row],
  tbody: [cell, row, rows],
  thead: [cell, row, rows],
  tfoot: [cell, row, rows],
  a: [link],
  option: [choice],
}
const plain: readonly ImpliedEnd[] = []
const blocks: readonly ImpliedEnd[] = [paragraph]

export function impliedEnds(name: string): readonly ImpliedEnd[] {
  const own = special[name]
  if (own !== undefined) return own
  return spacedTags.has(name) || (lineTags.has(name) && name !== 'body' && name !== 'html') ? blocks : plain
}

/** The element at which the search for an end tag's beginning stops, in vain. */
export function endsSearch(closing: string, name: string): boolean {
  if (tableTags.has(closing)) return name === 'template' || (closing !== 'table' && name === 'table')
  if (formattingTags.has(closing) || isSpecial(closing)) return scopeTags.has(name)
  return isSpecial(name)
}
