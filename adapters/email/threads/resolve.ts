// Which conversation a mail asks to join, best guess first, and never by its subject. Accept lets it in only where its proven
// sender takes part already.
import type { MailHead } from '../wire/judged.ts'
import { outlookName, threadKey, threadName } from './key.ts'
import type { ReplyTokens } from './token.ts'

/** Ids that are looked at: a reference further away than these joins nothing. */
const maxIds = 32

export type MailThread = {
  /** The Message-ID, or one made from the bytes where it has none. */
  readonly id: string
  readonly key: string
  readonly candidates: readonly string[]
  /** What the conversation is called from now on, too. */
  readonly also: readonly string[]
}

type Ids = Pick<MailHead, 'inReplyTo' | 'references' | 'threadIndex'>

/** `id`: its own. `tokenKey`: of the reply token in the address it was sent to. */
export async function resolveThread(
  head: Ids,
  facts: { readonly id: string; readonly tokenKey: string | undefined; readonly tokens: ReplyTokens },
): Promise<MailThread> {
  const { id } = facts
  const key = await threadKey(id)
  const ids = [...new Set([...head.inReplyTo, ...head.references.toReversed()])].slice(0, maxIds)
  const ours = await Promise.all(ids.map((each) => keyFromOwnMessageId(facts.tokens, each)))
  const others = await Promise.all(ids.filter((_, at) => ours[at] === undefined).map(threadKey))
  const keys = [facts.tokenKey, ...ours, ...others].flatMap((each) => each ?? [])
  const outlook = head.threadIndex === undefined ? [] : [outlookName(head.threadIndex)]
  // Outlook leaves References out on some paths, and any sender can copy an index: it is read only where there is nothing else.
  const hints = head.references.length === 0 ? outlook : []
  return {
    id,
    key,
    candidates: [...new Set([...keys.map(threadName), ...hints])],
    also: [threadName(key), ...outlook],
  }
}

/** Our Message-IDs begin with a token. The proof in it decides, whatever domain it is under: aliases and moves keep their threads. */
async function keyFromOwnMessageId(tokens: ReplyTokens, id: string): Promise<string | undefined> {
  return tokens.read(id.slice(0, id.search(/[.@]|$/)))
}
