// Loads the parts that need Node, by the first mail that uses them: so that the bundle for Workers stays without them.
import { importOnNode } from '../../../src/lib/index.ts'

export type NodeFiles = {
  readFile(path: string, encoding: 'utf8'): Promise<string>
  mkdir(path: string, options: { readonly recursive: true; readonly mode: number }): Promise<unknown>
  rename(from: string, to: string): Promise<void>
  /** Fails where the name is taken. */
  link(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  open(path: string, flags: string, mode: number): Promise<NodeFile>
}

type NodeFile = {
  writeFile(bytes: string | Uint8Array): Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

type NodeStreams = {
  readonly Readable: {
    fromWeb(body: ReadableStream<Uint8Array>): NodeReadable
  }
}

/** Opaque here: what one library gives, the other takes. */
type NodeReadable = { readonly destroyed: boolean }

export async function importNodeFs(): Promise<NodeFiles> {
  return await importOnNode<NodeFiles>('node:fs/promises')
}

export async function importNodeStream(): Promise<NodeStreams> {
  return await importOnNode<NodeStreams>('node:stream')
}

type Composer = new (mail: object) => { compile(): { build(): Promise<Uint8Array> } }

export async function importMailComposer(): Promise<Composer> {
  return (await importOnNode<{ readonly default: Composer }>('nodemailer/lib/mail-composer')).default
}

/** What one library gives and the other takes; whether a byte of it was asked for. */
export type MailStream = { readonly readableDidRead: boolean }
type Sent = { readonly serverMessageId?: string }
type Mail = {
  readonly data: { readonly watch?: (stream: MailStream) => void }
  readonly message: { processFunc(each: (stream: MailStream) => MailStream): void }
}

export type Pool = {
  sendMail(mail: object): Promise<Sent>
  /** Connects and logs in; sends nothing. */
  verify(): Promise<unknown>
  use(step: 'stream', plugin: (mail: Mail, done: () => void) => void): void
}

/** The sender may `watch` the stream of the mail, which is read when the server wants it and not before. */
export async function createSmtpPool(options: object): Promise<Pool> {
  const { createTransport } = await importOnNode<{ createTransport(options: object): Pool }>('nodemailer')
  const pool = createTransport(options)
  pool.use('stream', ({ data, message }, done) => {
    message.processFunc((stream) => {
      data.watch?.(stream)
      return stream
    })
    done()
  })
  return pool
}
