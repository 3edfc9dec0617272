// A pooler before PostgreSQL in session or transaction mode: in the latter every transaction goes to whichever session is chosen. It
// reaches the server by its unix socket, where no password is asked for.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import postgres from 'postgres'

/** Which of the free sessions is next: the one that was used last, the one that has rested longest, or any. */
export type Choice = 'last' | 'longest' | 'any'

export type PoolerOptions = {
  readonly mode: 'session' | 'transaction'
  readonly size: number
  readonly choice?: Choice
}

export type Pooler = { readonly url: string; readonly close: () => Promise<void> }

type Backend = { readonly socket: Socket; client: Client | undefined }
type Client = {
  readonly socket: Socket
  backend: Backend | undefined
  /** Messages that wait for a session. */
  readonly held: Buffer[]
  /** Requests that the server has not ended yet. */
  open: number
}

export async function startPooler(databaseUrl: string, options: PoolerOptions): Promise<Pooler> {
  const { mode, size, choice = 'last' } = options
  const target = new URL(databaseUrl)
  const path = await socketPath(databaseUrl)
  const sockets = new Set<Socket>()
  const backends: Backend[] = []
  const free: Backend[] = []
  const waiting: Client[] = []

  const choose = (): Backend | undefined => {
    if (choice === 'last') return free.pop()
    return choice === 'longest' ? free.shift() : free.splice(Math.floor(Math.random() * free.length), 1)[0]
  }
  const serve = (client: Client, backend: Backend): void => {
    client.backend = backend
    backend.client = client
    for (const message of client.held.splice(0)) backend.socket.write(message)
  }
  const release = (backend: Backend): void => {
    if (backend.client !== undefined) backend.client.backend = undefined
    backend.client = undefined
    const next = waiting.shift()
    if (next === undefined) free.push(backend)
    else serve(next, backend)
  }
  const openBackend = async (): Promise<void> => {
    const socket = connect(path)
    sockets.add(socket)
    const backend: Backend = { socket, client: undefined }
    socket.on('error', () => socket.destroy())
    const ready = Promise.withResolvers<void>()
    let isReady = false
    socket.write(startup({ user: decodeURIComponent(target.username), database: target.pathname.slice(1) }))
    socket.on(
      'data',
      inMessages((message) => {
        const isEnd = message[0] === code('Z')
        if (!isReady) {
          isReady = isEnd
          if (isEnd) ready.resolve()
          return
        }
        const { client } = backend
        if (client === undefined) return
        client.socket.write(message)
        if (!isEnd) return
        client.open -= 1
        if (mode === 'transaction' && client.open === 0 && message[5] === code('I')) release(backend)
      }),
    )
    await ready.promise
    backends.push(backend)
    free.push(backend)
  }
  for (let each = 0; each < size; each += 1) await openBackend()

  const server = createServer((socket) => {
    sockets.add(socket)
    const client: Client = { socket, backend: undefined, held: [], open: 0 }
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      if (waiting.includes(client)) waiting.splice(waiting.indexOf(client), 1)
      if (client.backend !== undefined) release(client.backend)
    })
    socket.once('data', () => {
      socket.write(greeting)
      socket.on(
        'data',
        inMessages((message) => {
          if (message[0] === code('X')) return void socket.end()
          if (message[0] === code('Q') || message[0] === code('S')) client.open += 1
          if (client.backend !== undefined) return void client.backend.socket.write(message)
          client.held.push(message)
          if (waiting.includes(client)) return
          const backend = choose()
          if (backend === undefined) waiting.push(client)
          else serve(client, backend)
        }),
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.href,
    close() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

async function socketPath(databaseUrl: string): Promise<string> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {}, fetch_types: false })
  try {
    const [row] = await sql`select current_setting('data_directory') as folder, current_setting('port') as port`
    return `${row?.['folder']}/.s.PGSQL.${row?.['port']}`
  } finally {
    await sql.end({ timeout: 5 })
  }
}

const code = (letter: string): number => letter.charCodeAt(0)

/** A message is a letter, its length, and as much. */
function inMessages(take: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
      const length = rest.readUInt32BE(1) + 1
      take(rest.subarray(0, length))
      rest = rest.subarray(length)
    }
  }
}

function startup(settings: Readonly<Record<string, string>>): Buffer {
  const body = Buffer.from(`${Object.entries(settings).flat().join('\0')}\0\0`)
  const head = Buffer.alloc(8)
  head.writeUInt32BE(body.length + 8, 0)
  head.writeUInt32BE(196_608, 4)
  return Buffer.concat([head, body])
}

function messageOf(letter: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(letter)
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** Welcome without a password; settings of the client are dropped, as poolers may. */
const greeting = Buffer.concat([
  messageOf('R', Buffer.alloc(4)),
  messageOf('S', Buffer.from('client_encoding\0UTF8\0')),
  messageOf('S', Buffer.from('server_version\x0018.0\0')),
  messageOf('K', Buffer.alloc(8)),
  messageOf('Z', Buffer.from('I')),
])
