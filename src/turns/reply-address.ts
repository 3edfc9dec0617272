// Where answers go, as far as the core reads it: by what the fields are called (contract/arrival.ts). Pure.
import type { JsonObject } from '../contract/index.ts'

const replyFieldPrefix = 'reply_to_'
const replyModePrefix = 'reply_to_as_'

/** Replies to different messages of one chat go to the same place; only where they go counts, and how. */
export function isSameReplyAddress(one: JsonObject, other: JsonObject): boolean {
  return replyAddressKey(one) === replyAddressKey(other)
}

/** How an edited message is answered is as its author has it now. Where that goes stays: no edit has more people read the answer. */
export function replyAddressAfterEdit(replyTo: JsonObject, edit: JsonObject): JsonObject {
  const isManner = ([name]: readonly [string, unknown]): boolean => name.startsWith(replyModePrefix)
  const kept = Object.entries(replyTo).filter((field) => !isManner(field))
  return Object.fromEntries([...kept, ...Object.entries(edit).filter(isManner)])
}

function replyAddressKey(address: JsonObject): string {
  const fields = Object.entries(address).filter(
    ([name]) => !name.startsWith(replyFieldPrefix) || name.startsWith(replyModePrefix),
  )
  return JSON.stringify(fields.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
