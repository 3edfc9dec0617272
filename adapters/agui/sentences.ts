// What only the AG-UI channel says: how a run ended, where the agent gave no words of its own.
import { createChannelSay } from '../../src/contract/index.ts'

export const aguiSentences = {
  'agui.run_failed': 'The run failed.',
  'agui.run_refused': 'The run was refused.',
  'agui.run_cancelled': 'The run was cancelled.',
  'agui.not_let_in': 'You have to be let in first.',
} as const

export const sayAgui = /* @__PURE__ */ createChannelSay(aguiSentences)
