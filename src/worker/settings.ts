// Settings of a Worker: bindings, variables and secrets of its environment, and the developer's module.
import type {
  EmailMessageBuilder,
  ForwardableEmailMessage,
  Hyperdrive,
  Queue,
  R2Bucket,
  SendEmail,
} from '@cloudflare/workers-types'
import { channels, publicChannels } from '../channels.ts'
import { type Config, type Environment, loadConfig, type ParleyConfig } from '../config.ts'
import type { Mailer } from '../contract/channel.ts'
import type { BlobStore } from '../files/blob-store.ts'
import { createR2Store } from '../files/drivers/r2.ts'
import { openBlobStore, type RuntimeFiles } from '../gateway/attachments.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'

/** Bindings of wrangler.toml. Variables and secrets stand beside them under the names they have on Node. */
export type WorkerEnv = {
  readonly HYPERDRIVE: Pick<Hyperdrive, 'connectionString'>
  readonly WAKE: Pick<Queue<WakeMessage>, 'send'>
  /** Holds files, unless the variables of another store are set. */
  readonly ATTACHMENTS?: R2Bucket
  /** Sends mail. */
  readonly SEND_EMAIL?: SendEmail
}

/** A mail as Cloudflare hands it over. */
export type WorkerEmail = Pick<ForwardableEmailMessage, 'from' | 'to' | 'raw' | 'rawSize' | 'setReject'>

export type WorkerSettings = { readonly config: Config; readonly isAdminOn: boolean }

/** Settings of Node that mean nothing here; an operator who sets one expects something that will not happen. */
const nodeVariables: Readonly<Record<string, string>> = {
  DATABASE_URL: 'the database is the HYPERDRIVE binding',
  PARLEY_DATA_DIR: 'there is no disk',
  PARLEY_PORT: 'there is no port to listen on',
  PARLEY_HOST: 'there is no address to listen on',
}

/** A seventh connection would wait for one of six, and a send that waits too long counts as perhaps sent. */
const fewAtOnce = { slots: 2, sendSlots: 2 } as const

export function readWorkerSettings(env: WorkerEnv, file: ParleyConfig): WorkerSettings {
  const variables = textVariables(env)
  const isAdminOn = variables['PARLEY_ADMIN'] === 'on'
  const problems = [
    ...missingBindingProblems(env),
    ...nodeOnlyVariableProblems(variables),
    ...localOnlyConnectionProblems(file),
  ]
  const turns = { ...fewAtOnce, ...file.turns }
  const known = file.connections?.filter((each) => !isLocalOnlyChannel(each.channel)) ?? []
  const config = loadConfigOrAddProblem(problems, () =>
    loadConfig({ ...variables, PARLEY_ADMIN: undefined }, { ...file, turns, connections: known }, publicChannels),
  )
  if (isAdminOn && variables['PARLEY_ADMIN_TOKEN'] === undefined)
    problems.push('PARLEY_ADMIN is on; set the secret PARLEY_ADMIN_TOKEN')
  const keepsFiles = config !== undefined && (env.ATTACHMENTS ?? config.attachments.store) !== undefined
  if (keepsFiles && config.publicUrl !== undefined && config.sealKeys.length === 0)
    problems.push('files are kept, and the key of their URLs is sealed; set the secret PARLEY_SEAL_KEY')
  if (config === undefined || problems.length > 0) {
    throw new GatewayError('config_invalid', `this Worker cannot start:\n  - ${problems.join('\n  - ')}`)
  }
  return { config, isAdminOn }
}

function textVariables(env: WorkerEnv): Environment {
  const values: readonly [string, unknown][] = Object.entries(env)
  return Object.fromEntries(
    values.flatMap(([name, value]) => (typeof value === 'string' && value.trim() !== '' ? [[name, value]] : [])),
  )
}

function missingBindingProblems(env: Partial<WorkerEnv>): readonly string[] {
  const problems: string[] = []
  if (typeof env.HYPERDRIVE?.connectionString !== 'string')
    problems.push('the Hyperdrive binding HYPERDRIVE is missing; add it to wrangler.toml')
  if (typeof env.WAKE?.send !== 'function')
    problems.push('the Queue producer binding WAKE is missing; add it to wrangler.toml')
  return problems
}

function nodeOnlyVariableProblems(variables: Environment): readonly string[] {
  return Object.entries(nodeVariables).flatMap(([name, why]) =>
    variables[name] === undefined ? [] : [`${name} is for Node: ${why}; remove it`],
  )
}

function localOnlyConnectionProblems(file: ParleyConfig): readonly string[] {
  const local = (file.connections ?? []).filter((each) => isLocalOnlyChannel(each.channel))
  return local.map(
    (each) => `[${each.channel}] connection "${each.id}" answers the gateway's own machine only; run it on Node`,
  )
}

function isLocalOnlyChannel(channel: string): boolean {
  const isOfChannel = (each: { readonly channel: string }): boolean => each.channel === channel
  return channels.some(isOfChannel) && !publicChannels.some(isOfChannel)
}

function loadConfigOrAddProblem(problems: string[], load: () => Config): Config | undefined {
  try {
    return load()
  } catch (error) {
    if (!isGatewayError(error, 'config_invalid')) throw error
    problems.push(error.message)
    return undefined
  }
}

// The wakeup of this runtime is a message on a queue. It says that there is work, never which; the rows do.

type WakeMessage = { readonly v: 1; readonly suspects?: true }

export const wakeMessage: WakeMessage = { v: 1 }
/** For an invocation of their own: turns on which others died. */
export const suspectsMessage: WakeMessage = { v: 1, suspects: true }

export function isSuspectTurnsMessage(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'suspects' in body && body.suspects === true
}

export type QueueWakeupDeps = {
  readonly queue: Pick<Queue<WakeMessage>, 'send'>
  readonly waitUntil: (work: Promise<unknown>) => void
  readonly log: Log
}

/** One message per invocation, however often it is notified. A message that cannot be sent is made good by the clock. */
export function createQueueWakeup({ queue, waitUntil, log }: QueueWakeupDeps): () => void {
  let isSent = false
  return () => {
    if (isSent) return
    isSent = true
    waitUntil(queue.send(wakeMessage).catch(() => log.warn('wake_not_sent')))
  }
}

// Mail is sent by the binding of wrangler.toml, where there is one.

/** Cloudflare's limit of one mail. */
const maxBytes = 5 * 1024 * 1024

export function createMailerFromBinding(env: WorkerEnv): Mailer | undefined {
  const { SEND_EMAIL: binding } = env
  // A variable of that name sends nothing.
  if (typeof binding?.send !== 'function') return undefined
  // The email adapter knows the fields; what does not fit is refused by Cloudflare, with a code.
  return { maxBytes, send: (parcel) => binding.send(parcel as EmailMessageBuilder) }
}

// Files are kept in the store whose variables are set, else in the bucket that is bound.

/** What handles call the bucket: the binding does not tell its own name. */
const boundBucket = 'attachments'

/** Undefined: no store is configured, or the URL under which they could be served is unknown. */
export function openWorkerFileStores(
  { attachments, publicUrl }: Pick<Config, 'attachments' | 'publicUrl'>,
  { ATTACHMENTS: binding }: Pick<WorkerEnv, 'ATTACHMENTS'>,
): RuntimeFiles | undefined {
  if (publicUrl === undefined) return undefined
  const bound = binding === undefined ? [] : [createR2Store({ binding, bucket: boundBucket })]
  const chosen = attachments.store === undefined ? [] : [openBlobStore(attachments.store, (...args) => fetch(...args))]
  const [first, ...others]: readonly BlobStore[] = [...chosen, ...bound]
  return first === undefined ? undefined : { stores: [first, ...others], origin: new URL(publicUrl).origin }
}
