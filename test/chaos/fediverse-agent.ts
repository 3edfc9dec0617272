// Who is mentioned: answers without repeating anything, so that words that were deleted are nowhere; thinks first where it is asked to.
import { defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'

const thinkMs = 1500

export const gardenAgent = defineAgent({
  slug: 'garden',
  run: async ({ parts }) => {
    if (textOf(parts).includes('Think')) await new Promise((resolve) => setTimeout(resolve, thinkMs))
    return 'It is noted.'
  },
})
