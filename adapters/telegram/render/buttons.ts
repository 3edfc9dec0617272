// Questions of policy as buttons below the words (slack 3.12): what is decided stays with us, a button sends back its code. Pure.
import { cleanName, isKnownPart, type KnownPart, type NormalizedResponse } from '../../../src/contract/index.ts'
import { buttonValue, type Decision } from '../wire/button.ts'
import type { Button, Keyboard } from '../wire/call.ts'

type Policy = Extract<KnownPart, { readonly kind: 'policy' }>['policy']

const labels: Readonly<Record<Decision, string>> = { approve: '✅ Approve', reject: '❌ Reject' }
const maxRows = 8
const maxLabel = 40
const maxUrl = 2048

export type Buttoned = { readonly reply: NormalizedResponse; readonly keyboard: Keyboard | undefined }

/** A link that became a button is no longer said in words. */
export function buttonsOf(reply: NormalizedResponse): Buttoned {
  const rows: Button[][] = []
  const asked = reply.parts.filter(isApproval).length
  const parts = reply.parts.map((part) => {
    if (!isKnownPart(part) || part.kind !== 'policy' || rows.length >= maxRows) return part
    const row = isApproval(part) ? decisions(part.policy, asked > 1) : links(part.policy)
    if (row.length === 0) return part
    rows.push(row)
    const { url: _shown, ...policy } = part.policy
    return isApproval(part)
      ? part
      : { ...part, policy: { ...policy, kind: part.policy.kind, message: part.policy.message } }
  })
  return rows.length === 0
    ? { reply, keyboard: undefined }
    : { reply: { ...reply, parts }, keyboard: { inline_keyboard: rows } }
}

function isApproval(part: NormalizedResponse['parts'][number]): boolean {
  return isKnownPart(part) && part.kind === 'policy' && part.policy.kind === 'approval_required'
}

/** Of several questions each button says which one it is about. */
function decisions(policy: Policy, isOneOfSeveral: boolean): Button[] {
  const { code, choices } = policy
  if (typeof code !== 'string' || !Array.isArray(choices)) return []
  return (['approve', 'reject'] as const).flatMap((decision) => {
    const value = choices.includes(decision) ? buttonValue(decision, code) : undefined
    const text = isOneOfSeveral ? `${labels[decision]} ${code}` : labels[decision]
    return value === undefined ? [] : [{ text, callback_data: value }]
  })
}

function links(policy: Policy): Button[] {
  const { url, action_label: label } = policy
  if (typeof url !== 'string' || url.length > maxUrl || !URL.canParse(url)) return []
  const { protocol, username, password } = new URL(url)
  if (protocol !== 'https:' || username !== '' || password !== '') return []
  const text = typeof label === 'string' ? cleanName(label).slice(0, maxLabel).trim().toWellFormed() : ''
  return [{ text: text === '' ? 'Open' : text, url }]
}
