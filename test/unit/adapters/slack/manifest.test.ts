// The manifest against Slack's own list of field names, scopes and events, and the command that prints it.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { botScopes, type ManifestOptions, slackCommands, slackManifest } from '../../../../adapters/slack/setup.ts'

const options: ManifestOptions = {
  name: 'Parley',
  url: 'https://bots.example.org/',
  isSocketMode: false,
  command: '/ask',
  connection: 'default',
  isOrgWide: false,
}
const hook = 'https://bots.example.org/hooks/slack/default'

const client = dirname(createRequire(import.meta.url).resolve('@slack/web-api/package.json'))
const published = readFileSync(join(client, 'dist/types/request/manifest.d.ts'), 'utf8')

/** Field names of one interface of Slack's published types. */
function fieldsOf(name: string): ReadonlySet<string> {
  const [, body = ''] = new RegExp(`interface ${name}[^{]*\\{([\\s\\S]*?)\\n\\}`).exec(published) ?? []
  return new Set([...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, field]) => field ?? ''))
}

const wordsOf = (name: string) =>
  new Set(
    [...(new RegExp(`type ${name} = ([^;]*);`).exec(published)?.[1] ?? '').matchAll(/'([^']+)'/g)].map((m) => m[1]),
  )

function unknownFields(value: object | undefined, name: string): readonly string[] {
  const known = fieldsOf(name)
  if (known.size === 0) throw new Error(`no interface ${name}`)
  return Object.keys(value ?? {}).filter((field) => !known.has(field))
}

describe('the manifest', () => {
  const { display_information, features, oauth_config, settings, ...rest } = slackManifest(options)

  test.each([
    [{ display_information, features, oauth_config, settings }, 'Manifest'],
    [display_information, 'ManifestDisplayInformation'],
    [features, 'ManifestFeatures'],
    [features.agent_view, 'ManifestAgentView'],
    [features.app_home, 'ManifestAppHome'],
    [features.bot_user, 'ManifestBotUser'],
    [features.slash_commands[0], 'ManifestSlashCommand'],
    [oauth_config, 'ManifestOAuthConfig'],
    [oauth_config.scopes, 'ManifestOAuthScopes'],
    [settings, 'ManifestSettings'],
    [settings.event_subscriptions, 'ManifestEventSubscriptions'],
    [settings.interactivity, 'ManifestInteractivity'],
  ])('has no field that Slack does not know in %j', (value, name) => {
    expect(unknownFields(value, name)).toEqual([])
    expect(rest).toEqual({})
  })

  test('asks for scopes and events that Slack publishes; two are newer than its list', () => {
    expect(botScopes.filter((scope) => !wordsOf('BotScope').has(scope))).toEqual(['assistant:write'])
    const events = settings.event_subscriptions.bot_events
    expect(events.filter((event) => !wordsOf('ManifestEvent').has(event))).toEqual(['agent_session_stopped'])
  })

  test('has the scope that each subscription needs', () => {
    const needs = {
      app_mention: 'app_mentions:read',
      'message.channels': 'channels:history',
      'message.groups': 'groups:history',
      'message.im': 'im:history',
      'message.mpim': 'mpim:history',
    }
    expect(settings.event_subscriptions.bot_events).toEqual(expect.arrayContaining(Object.keys(needs)))
    expect(oauth_config.scopes.bot).toEqual(expect.arrayContaining(Object.values(needs)))
  })

  test('sends events, clicks and commands to the connection, and installs back to it', () => {
    expect(settings.event_subscriptions).toMatchObject({ request_url: hook })
    expect(settings.interactivity).toEqual({ is_enabled: true, request_url: hook })
    expect(features.slash_commands).toMatchObject([{ command: '/ask', url: hook }])
    expect(oauth_config).toMatchObject({ redirect_urls: [`${hook}/oauth_redirect`] })
    expect(settings.socket_mode_enabled).toBe(false)
  })

  test('over Socket Mode names no address', () => {
    const manifest = slackManifest({ ...options, url: undefined, isSocketMode: true })
    expect(JSON.stringify(manifest)).not.toContain('http')
    expect(manifest.settings).toMatchObject({ socket_mode_enabled: true, interactivity: { is_enabled: true } })
  })

  test('over Socket Mode with an address still lets many workspaces install', () => {
    const manifest = slackManifest({ ...options, isSocketMode: true })
    expect(JSON.stringify(manifest).match(/https:[^"]*/g)).toEqual([`${hook}/oauth_redirect`])
  })

  test('turns a name of people into one that a bot may have', () => {
    const { display_information: shown, features: made } = slackManifest({ ...options, name: 'Help Desk (EU)' })
    expect([shown.name, made.bot_user.display_name]).toEqual(['Help Desk (EU)', 'help-desk-eu'])
  })

  test.each([
    [{ url: undefined }, /--url is missing/],
    [{ url: 'http://bots.example.org' }, /https/],
    [{ url: 'https://bots.example.org/?a=1' }, /query/],
    [{ command: 'ask' }, /--command/],
    [{ command: '/Ask Me' }, /--command/],
    [{ name: 'x'.repeat(36) }, /--name/],
    [{ name: '你好' }, /--name/],
    [{ connection: 'a/b' }, /--connection/],
  ])('is refused with %j', (change, problem) => {
    expect(() => slackManifest({ ...options, ...change })).toThrow(problem)
  })
})

test('the command prints what it also gives to programs', async () => {
  const [command] = slackCommands.commands
  const printed = await command?.run({ socket: true, command: '/helpdesk' }, {} as never)
  expect(JSON.parse(printed?.text ?? '')).toEqual(printed?.value)
  expect(printed?.value).toMatchObject({ features: { slash_commands: [{ command: '/helpdesk' }] } })
})
