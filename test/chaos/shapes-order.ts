// What people order in the crash test `shapes`, in the text of their messages; an agent reads all that were merged, or joined.

/** Whether the agent's steps declare themselves idempotent. All messages of a conversation are of one kind. */
export type OrderKind = 'keyed' | 'plain'

export const orderWishes = [
  'plain',
  /** Thinks a while between its steps. */
  'slow',
  /** The agent throws in its first try: before it has done anything, or after all of it. */
  'flaky-before',
  'flaky-after',
  /** The agent throws in every try, until the shop says that it is healed. */
  'poison-before',
  'poison-after',
  /** The shop does it, and the connection is cut before it could say so. */
  'cut',
  /** The connection is cut after the request has left, and nothing is done. */
  'lost',
  /** There is no connection: in the first try, or ever. */
  'refused',
  'shut',
] as const

export type OrderWish = (typeof orderWishes)[number]

export type Order = { readonly id: string; readonly kind: OrderKind; readonly wish: OrderWish }

export type OrderText = `order ${string}`

/** `version`: of an edited one. */
export function orderText({ id, kind, wish }: Order, version = 0): OrderText {
  return `order ${id} ${kind} ${wish} v${version}`
}

export function readOrders(text: string): readonly Order[] {
  return text.split(/\n+/).flatMap((line) => {
    const [verb, id, kind, wish] = line.trim().split(' ')
    const known = orderWishes.find((each) => each === wish)
    if (verb !== 'order' || id === undefined || known === undefined) return []
    return [{ id, kind: kind === 'keyed' ? 'keyed' : 'plain', wish: known }]
  })
}

const replyVerb = 'did'
/** Said where the model was told that nobody knows whether it was done. */
export const unsure = '(unsure)'

export function replyText(ids: readonly string[], isUnsure = false): string {
  return [replyVerb, ...ids, ...(isUnsure ? [unsure] : [])].join(' ')
}

/** The ids that a reply names; none: it is something else. */
export function idsInReply(text: string): readonly string[] {
  const [verb, ...words] = text.split(' ')
  return verb === replyVerb ? words.filter((word) => word !== unsure) : []
}
