// The paths of channels, as their adapters describe them.
import type { Adapter, DescribedRequest, Endpoint } from '../../contract/index.ts'
import type { Operation } from './operation.ts'

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
