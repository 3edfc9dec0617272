// What both references do with the network, and how they share commits: plain `node:http`, nothing of the gateway's own code.
import { timingSafeEqual } from 'node:crypto'
import { Agent, createServer, request } from 'node:http'

const maxBodyBytes = 1_000_000
const sendTimeoutMs = 10_000

/** Answers 200 once `accept` has kept the update, 401 without the secret, 500 when nothing was kept. */
export async function listenForUpdates({ path, webhookSecret }, accept) {
  const expected = Buffer.from(webhookSecret)
  const isOurs = (given) => {
    const bytes = Buffer.from(given ?? '')
    return bytes.length === expected.length && timingSafeEqual(bytes, expected)
  }
  const server = createServer((incoming, response) => {
    const end = (status) => response.writeHead(status, { 'content-length': 0 }).end()
    const { method, url, headers } = incoming
    if (method !== 'POST' || url !== path) return end(404)
    if (!isOurs(headers['x-telegram-bot-api-secret-token'])) return end(401)
    const chunks = []
    let bytes = 0
    incoming.on('data', (chunk) => {
      bytes += chunk.length
      if (bytes > maxBodyBytes) incoming.destroy()
      else chunks.push(chunk)
    })
    incoming.on('end', () => {
      let update
      try {
        update = JSON.parse(Buffer.concat(chunks).toString('utf8'))
      } catch {
        return end(400)
      }
      return accept(update).then(
        () => end(200),
        () => end(500),
      )
    })
    return undefined
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { port: server.address().port, close }
}

/** Calls `sendMessage` of the Bot API; resolves with the id of the message, rejects with why there is none. */
export function createSender({ apiUrl, botToken }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const url = `${apiUrl}/bot${botToken}/sendMessage`
  const send = (call) =>
    new Promise((resolve, reject) => {
      const body = Buffer.from(JSON.stringify(call))
      const headers = { 'content-type': 'application/json', 'content-length': body.length }
      const calling = request(url, { method: 'POST', agent, headers, timeout: sendTimeoutMs }, (response) => {
        const chunks = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          try {
            const answer = JSON.parse(Buffer.concat(chunks).toString('utf8'))
            if (answer.ok === true) resolve(String(answer.result.message_id))
            else reject(new Error(`refused: ${answer.error_code}`))
          } catch (error) {
            reject(error)
          }
        })
      })
      calling.on('timeout', () => calling.destroy(new Error('timeout')))
      calling.on('error', reject)
      calling.end(body)
    })
  return { send, close: () => agent.destroy() }
}

const maxShared = 500

/**
 * Calls of the returned function share one `commit`: whatever comes while the last one is under way waits and goes
 * together. `commit` gets the list and answers one result for each, in the same order.
 */
export function shareCommits(commit) {
  const waiting = []
  let isUnderWay = false
  const work = async () => {
    isUnderWay = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxShared)
      try {
        const results = await commit(batch.map(({ item }) => item))
        for (const [index, { resolve }] of batch.entries()) resolve(results[index])
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    isUnderWay = false
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!isUnderWay) void work()
    })
}

/** The agent: it answers at once. The first word of a message is its number, by which the bench knows the reply. */
export function answerAtOnce(text) {
  return `${text.split(' ', 1)[0]} seen`
}
