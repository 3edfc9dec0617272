// Who is written to: one agent that answers at once, and one that thinks first.
import { type Agent, defineAgent } from '../../src/agent/agent.ts'
import { textOf } from '../../src/contract/index.ts'

const thinkMs = 3000

export const mailAgents: readonly Agent[] = [
  defineAgent({ slug: 'post', run: ({ parts }) => `You wrote: ${textOf(parts)}` }),
  defineAgent({
    slug: 'slow',
    run: async ({ parts }) => {
      await new Promise((resolve) => setTimeout(resolve, thinkMs))
      return `After some thought: ${textOf(parts)}`
    },
  }),
]
