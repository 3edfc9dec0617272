// What only the A2A channel says: the message of a task's status where the agent gave no words of its own.
import { createChannelSay } from '../../src/contract/index.ts'

export const a2aSentences = {
  'a2a.input_required': 'More information is needed to go on.',
  'a2a.auth_required': 'Authorization is needed to go on.',
  'a2a.failed': 'The task failed.',
  'a2a.rejected': 'The request was rejected.',
} as const

export const sayA2a = /* @__PURE__ */ createChannelSay(a2aSentences)
