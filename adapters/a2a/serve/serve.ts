// Everything below this channel's paths: the public documents, and both bindings of every agent.
import type { ServeContext } from '../../../src/contract/index.ts'
import type { CardReader } from '../discovery/card-desk.ts'
import { type CardDocument, cardResponse, checkCardMethod, type Serving } from '../discovery/documents.ts'
import { createFault, type Fault, isA2aFault } from '../wire/faults.ts'
import { reportFailure } from './answer.ts'
import { faultResponse, type ResponseFormat } from './binding.ts'
import type { A2aDeps } from './call.ts'
import { identifyCaller } from './enter.ts'
import { type Route, routePath } from './place.ts'
import { serveRest } from './rest.ts'
import { type BindingRequest, serveRpc } from './rpc.ts'

export function createA2aServer(
  deps: A2aDeps,
): (request: Request, door: ServeContext) => Promise<Response | undefined> {
  return async (request, door) => {
    const url = new URL(request.url)
    const slugs = deps.agents().map(({ slug }) => slug)
    const place = routePath(url.pathname, deps.settings.path, slugs)
    const origin = deps.publicUrl ?? url.origin
    try {
      if (place.kind === 'operation') return await serveOperation(deps, { request, door, origin }, place)
      const stranger = await checkCardReader(deps, request, door)
      if (stranger !== undefined) return faultResponse(defaultFormat(deps, 'rest'), stranger)
      return (
        (await serveDocument(deps, request, place, { origin, isLocal: door.from === 'local' })) ?? notFoundAtPath(deps)
      )
    } catch (error) {
      const isRpc = place.kind === 'operation' && place.segments.length === 0
      return faultResponse(defaultFormat(deps, isRpc ? 'rpc' : 'rest'), reportFailure(door, error))
    }
  }
}

type Asked = Pick<BindingRequest, 'request' | 'door' | 'origin'>

function serveOperation(
  deps: A2aDeps,
  asked: Asked,
  { agent: mount, segments }: Extract<Route, { kind: 'operation' }>,
): Promise<Response> {
  const arriving = { ...asked, mount }
  return segments.length === 0 ? serveRpc(deps, arriving) : serveRest(deps, arriving, segments)
}

/** Undefined: the caller may read it. */
async function checkCardReader(deps: A2aDeps, request: Request, door: ServeContext): Promise<Fault | undefined> {
  if (deps.settings.cards === 'public') return undefined
  const caller = await identifyCaller(deps, request, door, undefined)
  return isA2aFault(caller) ? caller : undefined
}

async function serveDocument(
  { settings, cards }: A2aDeps,
  request: Request,
  place: Exclude<Route, { kind: 'operation' }>,
  reader: CardReader,
): Promise<Response | undefined> {
  const { maxAgeSeconds } = settings.card
  const isLegacyOn = settings.protocolVersions.includes('0.3')
  const serveCard = async (
    read: Promise<CardDocument | undefined>,
    serving: Serving,
  ): Promise<Response | undefined> => {
    const document = await read
    return document === undefined ? undefined : (checkCardMethod(request) ?? cardResponse(request, document, serving))
  }
  switch (place.kind) {
    case 'root_card': {
      // Who says 1.0 reads 1.0; who says nothing may be of the version before.
      const isStrict = !isLegacyOn || (request.headers.get('a2a-version') ?? '').trim().startsWith('1.')
      const read = isStrict ? cards.strict({ agent: undefined }, reader) : cards.hybrid({ agent: undefined }, reader)
      return serveCard(read, { maxAgeSeconds, ...(isLegacyOn ? { vary: 'A2A-Version' } : {}) })
    }
    case 'early_card':
      return isLegacyOn ? serveCard(cards.hybrid({ agent: undefined }, reader), { maxAgeSeconds }) : undefined
    case 'address_card':
      return serveCard(cards.address(place.slug, reader), { maxAgeSeconds })
    case 'card':
      return serveCard(cards.strict({ agent: place.agent }, reader), { maxAgeSeconds })
    case 'keys':
      return serveCard(cards.keys(), { maxAgeSeconds })
    case 'nothing':
      return undefined
    default:
      return place satisfies never
  }
}

function notFoundAtPath(deps: A2aDeps): Response {
  return faultResponse(defaultFormat(deps, 'rest'), createFault('not_found', 'there is nothing at this path'))
}

function defaultFormat({ settings }: A2aDeps, form: ResponseFormat['form']): ResponseFormat {
  return { dialect: '1.0', form, table: settings.errorTable, id: null, mediaType: 'application/json' }
}
