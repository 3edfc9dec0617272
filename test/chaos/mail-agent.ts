// Who is written to: answers at once, or thinks first where it is asked to.
import { defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'

const thinkMs = 3000

export const mailAgent = defineAgent({
  slug: 'post',
  run: async ({ parts }) => {
    const text = textOf(parts)
    if (text.includes('Think')) await new Promise((resolve) => setTimeout(resolve, thinkMs))
    return `You wrote: ${text}`
  },
})
