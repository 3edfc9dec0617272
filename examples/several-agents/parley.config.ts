// Two agents on the same channels: people reach one by its name, and the other asks it inside its own turn.
import { defineAgent, defineConfig, textOf } from 'parley-gateway'

const desk = defineAgent({
  slug: 'desk',
  label: 'Front desk',
  agentCalls: ['billing'],
  async run(message, { agents }) {
    const said = textOf(message.parts)
    if (!/invoice/i.test(said)) return 'Hello! Ask me about your invoice.'
    const reply = await agents.call('billing', said)
    return `Billing says: ${textOf(reply?.parts ?? [])}`
  },
})

const billing = defineAgent({
  slug: 'billing',
  label: 'Billing',
  run: (message) => `nothing is open ("${textOf(message.parts)}")`,
})

export default defineConfig({ agents: [desk, billing], defaultAgent: 'desk' })
