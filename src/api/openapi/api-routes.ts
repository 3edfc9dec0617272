// OpenAPI of the routes that the core answers itself (files, history, /me, the document), and of the channels' own paths.
import * as z from 'zod'
import type { Adapter, DescribedRequest, Endpoint } from '../../contract/index.ts'
import { resourcePath } from '../../identity/issuers/token-issuers.ts'
import { historyQuery } from '../history.ts'
import { ownBase } from '../me.ts'
import { cancelledSchema, historySchema, signedUrlSchema, uploadedSchema } from '../schemas.ts'
import { webfingerPath } from '../well-known.ts'
import type { Operation } from './operation.ts'
import { ownerOperations } from './owner-routes.ts'

const fileOperations: readonly Operation[] = [
  {
    method: 'post',
    path: '/api/v1/agent/attachments',
    id: 'uploadAttachment',
    tag: 'Talking to agents',
    opens: 'caller',
    summary: 'Stores a file, to be sent with a message',
    about: 'Fields come before the file: threadId and runId, both optional.',
    body: {
      mediaType: 'multipart/form-data',
      schema: z.object({
        threadId: z.string().optional(),
        runId: z.string().optional(),
        file: z.string().meta({ format: 'binary' }),
      }),
    },
    answers: {
      201: {
        what: 'Where it is, and a URL for the message that refers to it',
        schema: uploadedSchema,
        example: {
          bucket: 'agent-files',
          path: 'default/t1/r1/0198.png',
          mime_type: 'image/png',
          url: 'https://bot.example.org/storage/v1/object/sign/agent-files/default/t1/r1/0198.png?token=…',
        },
      },
    },
    problems: [400, 403, 413, 415, 501],
  },
  {
    method: 'get',
    path: '/api/v1/agent/attachments/signed-url',
    id: 'signAttachmentUrl',
    tag: 'Talking to agents',
    opens: 'caller',
    summary: 'Gives a fresh URL of a file of your own',
    query: z.object({ bucket: z.string(), path: z.string() }),
    answers: { 200: { what: 'The URL', schema: signedUrlSchema } },
    problems: [403, 404],
  },
  {
    method: 'get',
    path: '/storage/v1/object/sign/*',
    id: 'getFile',
    tag: 'Talking to agents',
    opens: 'anybody',
    summary: 'The bytes behind a URL that was handed out',
    params: { '*': 'Bucket and path of the file' },
    query: z.object({
      token: z.string().meta({ description: 'What the URL came with; it names one file and ends soon' }),
    }),
    headers: { range: 'A part of it (RFC 9110)' },
    answers: {
      200: { what: 'The file', mediaType: 'application/octet-stream' },
      206: { what: 'The part that was asked for', mediaType: 'application/octet-stream' },
      304: { what: 'You have it' },
    },
    problems: [400, 401, 403, 404, 416],
  },
]

const historyOperation: Operation = {
  method: 'get',
  path: '/api/v1/agent/history',
  id: 'getHistory',
  tag: 'Talking to agents',
  opens: 'caller',
  summary: 'What was said in a thread of your own',
  query: historyQuery,
  answers: {
    200: {
      what: 'The last lines, oldest first; every file under a URL made for this answer, every question with its state',
      schema: historySchema,
      example: { messages: [{ id: 'm1', role: 'user', content: [{ type: 'text', text: 'hello' }] }] },
    },
  },
  problems: [403, 404],
}

const cancelOperation: Operation = {
  method: 'post',
  path: `${ownBase}/runs/:id/cancel`,
  id: 'cancelRun',
  tag: 'What is yours',
  opens: 'owner',
  summary: 'Stops a run of your own',
  params: { id: 'The runId it was sent with' },
  answers: {
    200: {
      what: 'Whether it stops, was paused and is over, or had ended before',
      schema: cancelledSchema,
      example: { ok: true, id: '0198f0d2-5f1e-7c3a-9a3b-000000000001', outcome: 'stopping', status: 'running' },
    },
  },
  problems: [404],
}

const documentOperations: readonly Operation[] = [
  {
    method: 'get',
    path: '/openapi.json',
    id: 'getOpenApi',
    tag: 'About the gateway',
    opens: 'anybody',
    summary: 'This document',
    answers: { 200: { what: 'OpenAPI 3.1', schema: z.looseObject({ openapi: z.string() }) } },
  },
  {
    method: 'get',
    path: '/docs/api',
    id: 'readApiPage',
    tag: 'About the gateway',
    opens: 'anybody',
    summary: 'This document, for people',
    answers: { 200: { what: 'A page', mediaType: 'text/html' } },
  },
]

/** Only there where the operator named issuers of tokens. */
export const issuerOperations: readonly Operation[] = ['', '/*'].map((rest) => ({
  method: 'get',
  path: `${resourcePath}${rest}`,
  id: rest === '' ? 'getProtectedResource' : 'getProtectedResourceAt',
  tag: 'About the gateway',
  opens: 'anybody',
  summary: 'Who issues tokens for this gateway (RFC 9728)',
  ...(rest === '' ? {} : { params: { '*': 'The path of what is protected' } }),
  answers: { 200: { what: 'Its metadata', schema: z.looseObject({ resource: z.string() }) } },
}))

/** Only there where a channel says where agents are found. */
export const discoveryOperations: readonly Operation[] = [
  {
    method: 'get',
    path: webfingerPath,
    id: 'findAgent',
    tag: 'About the gateway',
    opens: 'anybody',
    summary: 'Where an agent is found, by its address (RFC 7033)',
    query: z.object({ resource: z.string(), rel: z.string().optional() }),
    answers: {
      200: {
        what: 'Its links',
        mediaType: 'application/jrd+json',
        schema: z.looseObject({ subject: z.string(), links: z.array(z.looseObject({ rel: z.string() })) }),
      },
    },
    problems: [400, 404, 410],
  },
]

export const apiOperations: readonly Operation[] = [
  ...fileOperations,
  historyOperation,
  ...ownerOperations({ base: ownBase, prefix: 'own', opens: 'owner' }),
  cancelOperation,
  ...documentOperations,
]

// The paths of channels, as their adapters describe them.

const webhookOperations: readonly Operation[] = [
  {
    method: 'post',
    path: '/hooks/:channel/:connection',
    id: 'receiveWebhook',
    tag: 'Channels',
    opens: 'channel',
    summary: 'Takes what a platform delivers',
    about:
      'Signed as the platform signs. A success means stored; delivering it again changes nothing. More than strangers may send is 429, or, where the platform would stop, a success with the outcome `limited`.',
    params: { channel: 'A channel', connection: 'The id of a connection of it' },
    answers: { 200: { what: 'It is stored, or the platform is answered as it wants to be' } },
    problems: [429],
  },
  {
    method: 'get',
    path: '/hooks/:channel/:connection/*',
    id: 'getChannelPage',
    tag: 'Channels',
    opens: 'channel',
    summary: 'Pages that a channel serves itself',
    params: { channel: 'A channel', connection: 'The id of a connection of it', '*': 'What the channel calls it' },
    answers: { 200: { what: 'A page, or what the channel says there' } },
  },
]

export function channelOperations(adapters: readonly Pick<Adapter, 'channel' | 'endpoints'>[]): readonly Operation[] {
  const described = adapters.flatMap(({ channel, endpoints }) =>
    endpoints.flatMap((endpoint) => endpointOperations(channel, endpoint)),
  )
  const unique = new Map([...described, ...webhookOperations].map((each) => [`${each.method} ${each.path}`, each]))
  return [...unique.values()]
}

function endpointOperations(channel: string, { path, answer, describe }: Endpoint): readonly Operation[] {
  if (describe !== undefined)
    return describe.map((each) => ({ ...each, path, tag: 'Talking to agents', opens: 'caller' }))
  const methods = answer === 'serve' ? (['get', 'post'] as const) : (['post'] as const)
  return methods.map((method) => ({
    ...undescribedRequest(channel, method, path),
    path,
    tag: 'Channels',
    opens: 'channel',
  }))
}

function undescribedRequest(channel: string, method: 'get' | 'post', path: string): DescribedRequest {
  const name = `${method}-${path}`.replaceAll(
    /[^a-z0-9]+(.)?/gi,
    (_, next: string | undefined) => next?.toUpperCase() ?? '',
  )
  const summary = `Belongs to the channel ${channel}; its own protocol says what is sent and answered`
  return { method, id: name, summary, answers: { 200: { what: 'As its protocol says' } } }
}
