// `parley slack …`: the operator's commands to set up the app.
import {
  type ChannelCommand,
  type ChannelCommands,
  type CommandFlags,
  GatewayError,
  type Json,
  probeReport,
} from '../../../src/contract/index.ts'
import { slackSettingsSchema } from '../config.ts'
import { createWebApiCaller } from '../deliver/web-api.ts'
import { slackManifest } from './manifest.ts'
import { createSlackProbe } from './probe.ts'

const checkMs = 20_000

const manifestCommand: ChannelCommand = {
  name: 'manifest',
  description: 'Print an app manifest to paste at api.slack.com/apps, "Create New App", "From a manifest".',
  examples: [
    'parley slack manifest --url https://bots.example.org',
    'parley slack manifest --socket',
    'parley slack manifest --socket --command /helpdesk --name Helpdesk > manifest.json',
  ],
  flags: {
    url: { type: 'string', description: 'Where Slack reaches the gateway', valueHint: 'https://…' },
    socket: { type: 'boolean', description: 'Events come over Socket Mode; nothing needs to be reachable' },
    command: { type: 'string', description: 'The slash command', valueHint: '/word', default: '/parley' },
    name: { type: 'string', description: 'What people see', valueHint: 'name', default: 'Parley' },
    connection: { type: 'string', description: 'Id of the connection', valueHint: 'id', default: 'default' },
    org: { type: 'boolean', description: 'May be installed into a whole Enterprise organization' },
  },
  async run(flags) {
    const manifest = slackManifest({
      name: textFlag(flags, 'name') ?? 'Parley',
      url: textFlag(flags, 'url'),
      isSocketMode: flags['socket'] === true,
      command: textFlag(flags, 'command') ?? '/parley',
      connection: textFlag(flags, 'connection') ?? 'default',
      isOrgWide: flags['org'] === true,
    })
    // Everything in a manifest is JSON; its readonly lists are only a stricter type of it.
    const value = manifest as unknown as Json
    return { value, text: JSON.stringify(value, null, 2) }
  },
}

const check: ChannelCommand = {
  name: 'check',
  description: 'Ask Slack how the app stands: who it is, what its tokens may do, whether Socket Mode is granted.',
  examples: ['parley slack check', 'parley slack check --json'],
  flags: {
    connection: { type: 'string', description: 'Id of the connection', valueHint: 'id', default: 'default' },
  },
  async run(flags, desk) {
    const id = textFlag(flags, 'connection') ?? 'default'
    const found = await desk.settings(id)
    if (found === undefined) {
      const remedy = 'set SLACK_BOT_TOKEN to the "Bot User OAuth Token" of your app, or name it in parley.config.ts'
      throw new GatewayError('config_invalid', `[slack] there is no connection ${id}; ${remedy}`)
    }
    const settings = slackSettingsSchema.parse(found.settings)
    const probe = createSlackProbe({ settings, call: createWebApiCaller(settings, desk) })
    return probeReport(await probe({ signal: AbortSignal.timeout(checkMs) }))
  },
}

function textFlag(flags: CommandFlags, name: string): string | undefined {
  const value = flags[name]
  return typeof value === 'string' ? value : undefined
}

export const slackCommands = {
  channel: 'slack',
  description: 'Set up the Slack app.',
  commands: [manifestCommand, check],
} satisfies ChannelCommands
