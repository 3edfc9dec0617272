// The repairs of message validation: what is put right before a message is judged, with a warning where it matters.
import { cleanName } from './clean-name.ts'
import { cleanText } from './clean-text.ts'

type Loose = Record<string, unknown>
/** The codes that a repair may leave behind as a warning. */
export type RepairCode = 'NM_HISTORY_ORDER' | 'NM_HISTORY_ROLE' | 'NM_RESOLUTION_UNTRUSTED'

/** Answers a changed copy; the input stays as it came. Text and names are cleaned, history is put in order. */
export function repairMessage(input: unknown, isResolutionTrusted: boolean, warnings: RepairCode[]): unknown {
  if (!isLoose(input)) return input
  const message: Loose = { ...input }
  if ('policy_resolution' in message && !isResolutionTrusted) {
    delete message['policy_resolution']
    warnings.push('NM_RESOLUTION_UNTRUSTED')
  }
  replace(message, 'in_reply_to', cleanIfText)
  replace(message, 'sender', repairSender)
  replace(message, 'parts', repairParts)
  replace(message, 'history', (history) => (Array.isArray(history) ? repairHistory(history, warnings) : history))
  return message
}

function repairHistory(history: readonly unknown[], warnings: RepairCode[]): readonly unknown[] {
  const known = history.filter((turn) => isLoose(turn) && (turn['role'] === 'user' || turn['role'] === 'assistant'))
  if (known.length < history.length) warnings.push('NM_HISTORY_ROLE')
  const times = turnTimes(known)
  const order = known.map((_, index) => index).toSorted((a, b) => (times[a] ?? 0) - (times[b] ?? 0))
  if (order.some((from, to) => from !== to)) warnings.push('NM_HISTORY_ORDER')
  return order.map((index) => repairTurn(known[index]))
}

/** A turn without a readable time keeps its place behind the turn before it. */
function turnTimes(turns: readonly unknown[]): readonly number[] {
  let last = Number.NEGATIVE_INFINITY
  return turns.map((turn) => {
    const time = isLoose(turn) ? Date.parse(String(turn['timestamp'])) : Number.NaN
    if (!Number.isNaN(time)) last = time
    // Two turns before all times must compare as equal, which minus infinity does not.
    return Math.max(last, Number.MIN_SAFE_INTEGER)
  })
}

function repairTurn(turn: unknown): unknown {
  if (!isLoose(turn)) return turn
  const copy: Loose = { ...turn }
  replace(copy, 'sender', repairSender)
  replace(copy, 'parts', repairParts)
  return copy
}

function repairSender(sender: unknown): unknown {
  if (!isLoose(sender)) return sender
  const copy: Loose = { ...sender }
  replace(copy, 'display_name', cleanIfName)
  replace(copy, 'profile', (profile) => {
    if (!isLoose(profile)) return profile
    const shown: Loose = { ...profile }
    replace(shown, 'display_name', cleanIfName)
    replace(shown, 'username', cleanIfName)
    return shown
  })
  return copy
}

function repairParts(parts: unknown): unknown {
  if (!Array.isArray(parts)) return parts
  return parts.map((part: unknown) => {
    if (!isLoose(part) || part['kind'] !== 'text') return part
    const copy: Loose = { ...part }
    replace(copy, 'content', cleanIfText)
    return copy
  })
}

function replace(target: Loose, key: string, change: (value: unknown) => unknown): void {
  if (target[key] !== undefined) target[key] = change(target[key])
}

function cleanIfText(value: unknown): unknown {
  return typeof value === 'string' ? cleanText(value) : value
}

function cleanIfName(value: unknown): unknown {
  return typeof value === 'string' ? cleanName(value) : value
}

function isLoose(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
