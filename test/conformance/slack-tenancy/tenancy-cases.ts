// Slack tenancy as data: one app, several workspaces and an organization; whose token is used, and when none may be.

import { WebClient } from '@slack/web-api'
import { expect } from 'vitest'
import type { Adapter } from '../../../src/contract/index.ts'
import { idleDoor } from '../../../src/testing/serve-context.ts'
import { type MemoryInstallations, memoryInstallations } from '../../doubles/memory-installations.ts'
import {
  answered,
  form,
  installed,
  messageEvent,
  received,
  receivedMessage,
  stamp,
  tenantAdapter,
  tokenOf,
} from '../../doubles/slack-tenants.ts'
import { type SlackWorkspaces, startSlackWorkspaces } from '../../doubles/slack-workspaces.ts'
import type { Case } from '../conform.ts'

type Scene = { readonly adapter: Adapter; readonly installations: MemoryInstallations; readonly slack: SlackWorkspaces }

/** A scene of its own for each case. */
async function inScene<T>(work: (scene: Scene) => Promise<T>): Promise<T> {
  const slack = await startSlackWorkspaces()
  const installations = memoryInstallations(
    ...['T0ONE', 'T0TWO', 'E0ORG', 'T0NINE'].map((account) => installed(account)),
  )
  try {
    return await work({ adapter: tenantAdapter(installations, slack.apiUrl), installations, slack })
  } finally {
    await slack.close()
  }
}

/** Tokens of the calls that an answer to this payload makes. */
const tokensFor = (body: object | string) =>
  inScene(async ({ adapter, slack }) => {
    await answered(adapter, await receivedMessage(adapter, body))
    return slack.calls().map(({ token }) => token)
  })

const command = {
  command: '/parley',
  text: 'what now?',
  user_id: 'U0SAME001',
  channel_id: 'C0SAME001',
  team_id: 'T0ONE',
  enterprise_id: 'E0ORG',
  api_app_id: 'A0PARLEY1',
  trigger_id: '1.2.3',
  is_enterprise_install: 'false',
}

const click = (more: object) => ({
  type: 'block_actions',
  user: { id: 'U0SAME001', team_id: 'T0SEVEN' },
  api_app_id: 'A0PARLEY1',
  channel: { id: 'C0SAME001' },
  container: { type: 'message', message_ts: stamp(2), channel_id: 'C0SAME001' },
  message: { ts: stamp(2), text: 'May I?' },
  actions: [
    { type: 'button', action_id: 'approve', block_id: 'parley_approval', value: 'c0ffee', action_ts: stamp(3) },
  ],
  ...more,
})

const uninstalled = (team: string, event: object) => messageEvent(team, {}, { event })

export const tenancyCases: readonly Case[] = [
  {
    id: 'S21',
    claim: 'what Slack authorized decides the token, not the outer team',
    run: () =>
      tokensFor(
        messageEvent(
          'T0TWO',
          {},
          { authorizations: [{ team_id: 'T0ONE', user_id: 'U0BOTONE', is_bot: true, is_enterprise_install: false }] },
        ),
      ),
    equals: [tokenOf('T0ONE')],
  },
  {
    id: 'S22',
    claim: 'an organization’s install is found by the organization, and its calls name the workspace',
    run: () =>
      inScene(async ({ adapter, slack }) => {
        const authorizations = [
          { team_id: null, enterprise_id: 'E0ORG', user_id: 'U0BOTORG', is_bot: true, is_enterprise_install: true },
        ]
        const body = messageEvent('T0FIVE', {}, { authorizations })
        await answered(adapter, await receivedMessage(adapter, body))
        return slack.calls().map(({ token, body: sent }) => [token, /T0FIVE/.test(sent)])
      }),
    equals: [[tokenOf('E0ORG'), true]],
  },
  {
    id: 'S23',
    claim: 'the word "false" is no organization',
    run: () => tokensFor(form(command)),
    equals: [tokenOf('T0ONE')],
  },
  {
    id: 'S24',
    claim: 'a click without a team belongs to the organization that installed the app',
    run: () =>
      tokensFor(
        form({
          payload: JSON.stringify(click({ team: null, enterprise: { id: 'E0ORG' }, is_enterprise_install: true })),
        }),
      ),
    equals: [tokenOf('E0ORG')],
  },
  {
    id: 'S25',
    claim: 'a view that was sent in makes no call at all',
    differs: 'we open no views; what comes of one is kept and answered by nothing',
    run: () =>
      inScene(async ({ adapter, slack }) => {
        const view = {
          type: 'view_submission',
          team: { id: 'T0THREE' },
          user: { id: 'U0SAME001' },
          view: { app_installed_team_id: 'T0NINE' },
        }
        const arrived = await received(adapter, form({ payload: JSON.stringify(view) }))
        return [arrived.map(({ kind }) => kind), slack.calls()]
      }),
    equals: [['ignored'], []],
  },
  {
    id: 'S26',
    claim: 'the client writes its token into headers that are shared, and ours share none',
    run: () =>
      inScene(async ({ adapter, slack }) => {
        const headers: Record<string, string> = {}
        for (const account of ['T0ONE', 'T0TWO'])
          await new WebClient(tokenOf(account), {
            headers,
            slackApiUrl: slack.apiUrl,
            fetch: (...of) => fetch(...of),
          }).auth.test()
        const shared = slack.calls().map(({ token }) => token)
        for (const team of ['T0ONE', 'T0TWO', 'T0ONE'])
          await answered(adapter, await receivedMessage(adapter, messageEvent(team)))
        return [
          shared,
          slack
            .calls()
            .slice(2)
            .map(({ token }) => token),
        ]
      }),
    equals: [
      [tokenOf('T0ONE'), tokenOf('T0ONE')],
      [tokenOf('T0ONE'), tokenOf('T0TWO'), tokenOf('T0ONE')],
    ],
  },
  {
    id: 'S27',
    claim: 'what a thread of one workspace was opened about is not in a message of another',
    run: () =>
      inScene(async ({ adapter }) => {
        const started = {
          type: 'assistant_thread_started',
          assistant_thread: {
            user_id: 'U0SAME001',
            channel_id: 'D0SAME001',
            thread_ts: stamp(1),
            context: { channel_id: 'C0SECRET1', team_id: 'T0ONE' },
          },
        }
        await received(adapter, messageEvent('T0ONE', {}, { event: started }))
        return JSON.stringify(await receivedMessage(adapter, messageEvent('T0TWO', { thread_ts: stamp(1) })))
      }).then((text) => /C0SECRET1|T0ONE/.test(text)),
    equals: false,
  },
  {
    id: 'S29',
    claim: 'a revoked token of a person leaves the bot’s, the bot’s own ends the installation',
    run: () =>
      inScene(async ({ adapter, installations }) => {
        await received(adapter, uninstalled('T0ONE', { type: 'tokens_revoked', tokens: { oauth: ['U0SAME001'] } }))
        const after = [...installations.ended]
        await received(adapter, uninstalled('T0ONE', { type: 'tokens_revoked', tokens: { bot: ['U0BOTT0ONE'] } }))
        return [after, installations.ended]
      }),
    equals: [[], [['T0ONE', 'removed', 'tokens_revoked']]],
  },
  {
    id: 'S30',
    claim: 'what waits for a workspace that uninstalled the app is refused without a call; others go on',
    run: () =>
      inScene(async ({ adapter, slack }) => {
        const waiting = await receivedMessage(adapter, messageEvent('T0ONE'))
        await received(adapter, uninstalled('T0ONE', { type: 'app_uninstalled' }))
        const outcome = await answered(adapter, waiting)
        const calls = slack.calls().length
        const other = await answered(adapter, await receivedMessage(adapter, messageEvent('T0TWO')))
        return [outcome, calls, other.kind]
      }),
    equals: [{ kind: 'refused', reason: 'installation_removed' }, 0, 'delivered'],
  },
  {
    id: 'S31',
    claim: 'a way back that nobody began is turned away, with nothing asked of Slack',
    run: () =>
      inScene(async ({ adapter, slack, installations }) => {
        const back = await adapter.serve?.(
          new Request('https://x.example/hooks/slack/default/oauth_redirect?state=1&code=2'),
          idleDoor,
        )
        return [back?.status, slack.calls(), installations.saved]
      }),
    equals: [400, [], []],
  },
  {
    id: 'S32',
    claim: 'somebody who says no sees a page in plain words',
    run: () =>
      inScene(async ({ adapter, installations }) => {
        const back = await adapter.serve?.(
          new Request('https://x.example/hooks/slack/default/oauth_redirect?error=access_denied'),
          idleDoor,
        )
        expect(await back?.text()).toMatch(/<h1>Not installed<\/h1>/)
        return [back?.status, installations.saved]
      }),
    equals: [403, []],
  },
  {
    id: 'S33',
    claim: 'the same user id in two workspaces is two people in two conversations',
    run: () =>
      inScene(async ({ adapter }) => {
        const [one, two] = [
          await receivedMessage(adapter, messageEvent('T0ONE')),
          await receivedMessage(adapter, messageEvent('T0TWO')),
        ]
        return [
          one.subject === two.subject,
          one.thread.newThreadKey === two.thread.newThreadKey,
          one.semanticId === two.semanticId,
        ]
      }),
    equals: [false, false, false],
  },
]
