// `parley activitypub …`: checks how other servers see an agent, and the group of the operator's commands of the channel.

import type { ChannelCommand, ChannelCommands, CommandFlags, CommandResult } from '../../../src/contract/index.ts'
import { GatewayError } from '../../../src/lib/index.ts'
import { blockCommands } from '../admin/block-commands.ts'
import { followerCommands, keyCommands, postCommands, reportCommands, requestCommands } from '../admin/commands.ts'
import {
  checkActor,
  checkActorPage,
  checkCollection,
  checkInbox,
  checkInstance,
  checkNodeInfo,
  checkWebFinger,
  checkWebFingerOfActor,
  createProbeFetch,
  type Finding,
  fieldsOrEmpty,
  type Handle,
  type ProbeFetch,
} from './checks.ts'

const written = /^(?:acct:|@)?([A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?)@([A-Za-z0-9.-]{1,253}(?::\d{1,5})?)$/

const check: ChannelCommand = {
  name: 'check',
  description: 'Look at a handle as another server does: names, documents, keys, inboxes.',
  examples: [
    'parley activitypub check @concierge@bots.example.org',
    'parley activitypub check @concierge@bots.example.org --json',
  ],
  flags: {
    handle: { type: 'positional', required: true, description: 'Such as @concierge@bots.example.org' },
  },
  async run(flags, { fetch }) {
    const handle = parseHandleFlag(flags)
    const { findings, actor } = await checkHandle(createProbeFetch(fetch), handle)
    return reportFindings(handle, actor, findings)
  },
}

export const activityPubCommands: ChannelCommands = {
  channel: 'activitypub',
  description: 'See your agents as the fediverse does, and decide about posts, followers, reports, blocks and keys.',
  commands: [check, postCommands, requestCommands, followerCommands, reportCommands, blockCommands, keyCommands],
}

type Seen = { readonly findings: readonly Finding[]; readonly actor: string | undefined }

/** One after the other: the server may count requests. */
async function checkHandle(look: ProbeFetch, handle: Handle): Promise<Seen> {
  const finger = await checkWebFinger(look, handle)
  const { actor } = finger
  // The host of the handle need not be the one that serves: it may pass on nothing but WebFinger.
  const server = await checkNodeInfo(look, actor === undefined ? handle.host : new URL(actor).host)
  if (actor === undefined) return { actor, findings: [...finger.findings, server] }
  const { findings, json } = await checkActor(look, actor, handle)
  const loop = await checkWebFingerOfActor(look, handle, actor)
  if (json === undefined) return { actor, findings: [...finger.findings, loop, ...findings, server] }
  const instance = await checkInstance(look, actor)
  const shared = fieldsOrEmpty(json['endpoints'])['sharedInbox']
  const places = [
    await checkInbox(look, 'inbox', actor, json['inbox']),
    await checkInbox(look, 'shared inbox', actor, shared),
    await checkCollection(look, 'outbox', json['outbox']),
    await checkCollection(look, 'followers', json['followers']),
    await checkActorPage(look, actor),
  ]
  return { actor, findings: [...finger.findings, loop, ...findings, ...places, instance, server] }
}

function reportFindings(
  { user, host }: Handle,
  actor: string | undefined,
  findings: readonly Finding[],
): CommandResult {
  const problems = findings.filter(({ isFine }) => !isFine)
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.map(({ check: name, isFine, said, remedy }) => {
    const line = `${isFine ? 'ok     ' : 'PROBLEM'}  ${name.padEnd(width)}  ${said}`
    return remedy === undefined ? line : `${line}\n${' '.repeat(11 + width)}→ ${remedy}`
  })
  const [first] = problems
  return {
    value: {
      handle: `@${user}@${host}`,
      actor: actor ?? null,
      isFine: problems.length === 0,
      checks: findings.map(({ check: name, isFine, said, remedy }) => ({
        check: name,
        isFine,
        said,
        remedy: remedy ?? null,
      })),
    },
    text: [`@${user}@${host}`, '', ...lines].join('\n'),
    ...(first === undefined ? {} : { problem: `${first.check}: ${first.said}; ${first.remedy ?? ''}` }),
  }
}

function parseHandleFlag(flags: CommandFlags): Handle {
  const [, user, host] = written.exec(String(flags['handle'] ?? '').trim()) ?? []
  if (user === undefined || host === undefined || !URL.canParse(`https://${host}`))
    throw new GatewayError('bad_request', 'that is no handle; write it as @agent@host')
  return { user, host: host.toLowerCase() }
}
