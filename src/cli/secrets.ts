// `parley secrets`: the keys and tokens that the gateway makes for itself, and new ones in their place while it works.

import type { RotatedSecret, SecretLine } from '../api/own-secrets.ts'
import type { Resealed } from '../db/reseal.ts'
import { CommandError, exitCodes, wrongUsage } from './command-error.ts'
import type { Group } from './command-line.ts'
import { confirmOrAbort, yesArg } from './flags.ts'
import { type CallGateway, operatorCommand } from './operator-command.ts'
import { formatInstant, formatTable, printableLine } from './output.ts'

const secretsListCommand = operatorCommand({
  name: 'list',
  description:
    'List the keys and tokens of this gateway: what each protects, since when, where it is kept. None is shown.',
  examples: ['parley secrets list', 'parley secrets list --json'],
  args: {},
  async run({ callGateway, show }) {
    const secrets = await fetchSecrets(callGateway)
    const lines = formatTable(secrets, [
      { title: 'NAME', cell: (line) => line.name },
      { title: 'SINCE', cell: (line) => formatInstant(line.since) },
      { title: 'KEPT IN', cell: (line) => line.place },
      { title: 'PROTECTS', cell: (line) => line.protects },
      { title: 'THE ONE BEFORE', cell: (line) => line.old },
    ])
    show({ secrets }, lines)
  },
})

const rotateCommand = operatorCommand({
  name: 'rotate',
  description:
    'Make new keys while the gateway works. What was signed or sealed with the old ones goes on to count; see the list.',
  examples: [
    'parley secrets rotate sealing-key',
    'parley secrets rotate file-handles,gateway#attestations',
    'parley secrets rotate --all --yes',
  ],
  args: {
    name: { type: 'positional', required: false, description: 'As the list calls it; several with commas' },
    all: { type: 'boolean', description: 'All of them, the admin token too' },
    ...yesArg,
  },
  async before({ name, all, yes }) {
    if ((name === undefined) === (all !== true)) throw wrongUsage('name a key, or give --all; see parley secrets list')
    if (all === true) await confirmOrAbort('Make new keys and a new admin token?', yes)
  },
  async run({ args, callGateway, show }) {
    const known = await fetchSecrets(callGateway)
    const wanted =
      args.all === true
        ? known.filter(({ isRotated }) => isRotated).map(({ name }) => name)
        : splitSecretNames(args.name)
    const unknown = wanted.find((name) => known.every((each) => each.name !== name))
    if (unknown !== undefined)
      throw new CommandError(
        exitCodes.notFound,
        'not_found',
        `there is no key ${printableLine(unknown)}; see parley secrets list`,
      )
    const rotated: RotatedSecret[] = []
    // The token that this command works with comes last.
    for (const name of [...wanted].sort((one, other) => rotationRank(one) - rotationRank(other))) {
      if (name === 'admin-token') continue
      const line = known.find((each) => each.name === name)
      rotated.push(
        line?.kind === 'actor' ? await rotateActorKey(callGateway, name) : await rotateSecret(callGateway, name),
      )
    }
    const sealed = wanted.includes('sealing-key') ? await resealUntilDone(callGateway) : undefined
    if (wanted.includes('admin-token')) rotated.push(await rotateSecret(callGateway, 'admin-token'))
    const words = rotated.map(({ name, token, note }) =>
      printableLine(`${name}: ${note ?? (token === undefined ? 'new' : `${token} (shown this once)`)}`),
    )
    const rows = sealed === undefined ? [] : [`Sealed anew: ${sealed.resealed} rows.`]
    show({ rotated, ...(sealed === undefined ? {} : { sealed }) }, [...words, ...rows].join('\n'))
    if (sealed !== undefined && sealed.unopened > 0)
      throw new CommandError(
        exitCodes.failed,
        'unopened',
        `${sealed.unopened} rows are sealed by a key that this gateway does not have; add it to PARLEY_SEAL_KEY and run this again`,
      )
  },
})

export const secretsCommands: Group = {
  name: 'secrets',
  description: 'Keys and tokens that the gateway makes for itself.',
  examples: ['parley secrets list', 'parley secrets rotate --all --yes'],
  commands: [secretsListCommand, rotateCommand],
}

async function fetchSecrets(callGateway: CallGateway): Promise<readonly SecretLine[]> {
  return (await callGateway<{ secrets: readonly SecretLine[] }>('GET', '/admin/secrets')).secrets
}

function splitSecretNames(name: string | undefined): readonly string[] {
  const names = (name ?? '').split(',').map((each) => each.trim())
  return [...new Set(names.filter((each) => each !== ''))]
}

/** What seals the others is new before they are. */
function rotationRank(name: string): number {
  return name === 'sealing-key' ? 0 : 1
}

function rotateSecret(callGateway: CallGateway, name: string): Promise<RotatedSecret> {
  return callGateway<RotatedSecret>('POST', '/admin/secrets/rotate', { body: { name } })
}

/** Servers of followers are told, by the channel itself. */
async function rotateActorKey(callGateway: CallGateway, name: string): Promise<RotatedSecret> {
  const [connection = '', actor = ''] = name.split('#')
  const at = connection.split('/').map(encodeURIComponent).join('/')
  const body = { owner: actor.replace(/^agent:/, ''), again: false }
  await callGateway('POST', `/admin/connections/${at}/operations/keys.rotate`, { body })
  return { name }
}

/** A replica goes on with the old key for some seconds: what it sealed meanwhile is found by the last pass. */
const othersKnowMs = 6_000

async function resealUntilDone(callGateway: CallGateway): Promise<Pick<Resealed, 'resealed' | 'unopened'>> {
  const pass = async (): Promise<{ resealed: number; unopened: number }> => {
    let resealed = 0
    for (;;) {
      const done = await callGateway<Resealed>('POST', '/admin/secrets/reseal')
      resealed += done.resealed
      if (done.isDone) return { resealed, unopened: done.unopened }
    }
  }
  const first = await pass()
  await new Promise((resolve) => setTimeout(resolve, othersKnowMs))
  const last = await pass()
  return { resealed: first.resealed + last.resealed, unopened: last.unopened }
}
