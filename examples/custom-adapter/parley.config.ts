// A gateway with a channel of its own. Its settings come from DISCORD_… variables.
import { defineAgent, defineConfig, textOf } from 'parley-gateway'
import { discordChannel } from './adapter/index.ts'

const echo = defineAgent({ slug: 'echo', run: (message) => `**You said:** ${textOf(message.parts)}` })

export default defineConfig({ agents: [echo], channels: [discordChannel] })
