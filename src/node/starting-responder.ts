// Answers on the data folder's socket while the gateway cannot serve on it yet: retry in a moment.
import { createServer, type Server } from 'node:http'

/** The code the command line waits for, instead of taking it for a refusal. */
export const startingCode = 'starting'

const headers = { 'content-type': 'application/json; charset=utf-8', 'retry-after': '1' }
const status = 503
const body = JSON.stringify({
  error: {
    code: startingCode,
    remedy: 'the gateway is starting, or a command is using its folder; try again in a moment',
  },
})

export function startingResponse(): Response {
  return new Response(body, { status, headers })
}

/** Holds the folder for a short command: other commands are told to wait. */
export function createStartingServer(): Server {
  return createServer((_request, response) => {
    response.writeHead(status, { ...headers, connection: 'close' }).end(body)
  })
}
