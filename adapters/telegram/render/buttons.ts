// Questions of policy as buttons below the words: what is decided stays with us, a button sends back its code. Pure.
import {
  cleanName,
  isKnownPart,
  type KnownPart,
  type NormalizedResponse,
  type Part,
} from '../../../src/contract/index.ts'
import { buttonValue, type Decision } from '../wire/button.ts'
import type { Button, Keyboard } from '../wire/call.ts'

type Policy = Extract<KnownPart, { readonly kind: 'policy' }>['policy']

const labels: Readonly<Record<Decision, string>> = { approve: '✅ Approve', reject: '❌ Reject' }
const maxRows = 8
const maxCards = 8
const maxLabel = 40
const maxUrl = 2048

/** The words of a reply, with links of policies as buttons below them, and its questions as messages of their own. */
export type Buttoned = {
  readonly reply: NormalizedResponse
  readonly keyboard: Keyboard | undefined
  readonly cards: readonly Card[]
}

/** A question and the buttons that answer it. */
export type Card = { readonly text: string; readonly keyboard: Keyboard }

/** A link or a decision that became a button is no longer said in words. */
export function renderButtons(reply: NormalizedResponse): Buttoned {
  const rows: Button[][] = []
  const cards: Card[] = []
  const parts = reply.parts.flatMap((part): readonly Part[] => {
    if (!isKnownPart(part) || part.kind !== 'policy') return [part]
    const { policy } = part
    const card = cards.length < maxCards ? buttonCard(policy) : undefined
    if (card !== undefined) {
      cards.push(card)
      return []
    }
    const row = rows.length < maxRows ? linkButtons(policy) : []
    if (row.length === 0) return [part]
    rows.push(row)
    const { url: _shown, ...said } = policy
    return [{ ...part, policy: { ...said, kind: policy.kind, message: policy.message } }]
  })
  const keyboard = rows.length === 0 ? undefined : { inline_keyboard: rows }
  return { reply: { ...reply, parts }, keyboard, cards }
}

/** Undefined: it is no question, or has a code that would not come back as it is. */
function buttonCard({ kind, code, choices, question, message }: Policy): Card | undefined {
  if (kind !== 'approval_required' || typeof code !== 'string' || !Array.isArray(choices)) return undefined
  const row = (['approve', 'reject'] as const).flatMap((decision) => {
    const value = choices.includes(decision) ? buttonValue(decision, code) : undefined
    return value === undefined ? [] : [{ text: labels[decision], callback_data: value }]
  })
  if (row.length === 0) return undefined
  return { text: typeof question === 'string' ? question : message, keyboard: { inline_keyboard: [row] } }
}

function linkButtons(policy: Policy): Button[] {
  const { url, action_label: label } = policy
  if (typeof url !== 'string' || url.length > maxUrl || !URL.canParse(url)) return []
  const { protocol, username, password } = new URL(url)
  if (protocol !== 'https:' || username !== '' || password !== '') return []
  const text = typeof label === 'string' ? cleanName(label).slice(0, maxLabel).trim().toWellFormed() : ''
  return [{ text: text === '' ? 'Open' : text, url }]
}
