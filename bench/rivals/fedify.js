// Fedify with its key-value store in memory and no queue, behind a plain server that makes a Request of every call: verified, parsed,
// the listener looks at the post and does nothing with it. What it remembers is gone with the process.
import { createFederation, generateCryptoKeyPair, MemoryKvStore } from '@fedify/fedify'
import { Create, Service } from '@fedify/vocab'
import { listen } from './listen.js'

export async function start({ origin, agent }) {
  let handled = 0
  const keys = [await generateCryptoKeyPair('RSASSA-PKCS1-v1_5'), await generateCryptoKeyPair('Ed25519')]
  // Those who write are on this machine.
  const federation = createFederation({ kv: new MemoryKvStore(), allowPrivateAddress: true })
  federation
    .setActorDispatcher('/ap/{identifier}', async (context, identifier) => {
      if (identifier !== agent) return null
      const [first] = await context.getActorKeyPairs(identifier)
      const [id, inbox] = [context.getActorUri(identifier), context.getInboxUri(identifier)]
      return new Service({ id, inbox, preferredUsername: identifier, publicKey: first.cryptographicKey })
    })
    .setKeyPairsDispatcher(async () => keys)
  federation.setInboxListeners('/ap/{identifier}/inbox', '/ap/inbox').on(Create, async (context, create) => {
    const note = await create.getObject(context)
    if (note?.content != null) handled += 1
  })
  const { port, stop } = await listen((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', async () => {
      const { method, headers, url } = request
      const web = new Request(`${origin}${url}`, { method, headers, body: Buffer.concat(chunks) })
      const answer = await federation.fetch(web, { contextData: undefined })
      const body = Buffer.from(await answer.arrayBuffer())
      response.writeHead(answer.status, { 'content-length': body.length }).end(body)
    })
  })
  return { port, stop, handled: () => handled }
}
