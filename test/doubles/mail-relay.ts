// A mail server on loopback that says 250 after the mail is where it belongs, and 451 where it could not be brought there.
import { SMTPServer } from 'smtp-server'

export type Posted = { readonly from: string; readonly to: readonly string[]; readonly raw: Buffer }

export type PostOffice = {
  readonly port: number
  readonly url: string
  /** What was brought, in the order it was. */
  readonly brought: readonly Posted[]
  /** How many could not be brought. */
  readonly refused: () => number
  /** Why each of them could not, in one line. */
  readonly complaints: readonly string[]
  readonly close: () => Promise<void>
}

export async function startPostOffice(bring: (mail: Posted) => Promise<void>): Promise<PostOffice> {
  const brought: Posted[] = []
  const complaints: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 50,
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk))
      stream.on('end', () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        const mail = { from, to: envelope.rcptTo.map(({ address }) => address), raw: Buffer.concat(chunks) }
        bring(mail).then(
          () => {
            brought.push(mail)
            done()
          },
          (error: unknown) => {
            complaints.push(String(error).split('\n', 2).join(' '))
            done(Object.assign(new Error('not now'), { responseCode: 451 }))
          },
        )
      })
    },
  })
  // Whoever is killed in the middle hangs up.
  server.on('error', () => {})
  const port = await new Promise<number>((resolve) => {
    const listening = server.listen(0, '127.0.0.1', () => {
      const at = listening.address()
      resolve(typeof at === 'object' && at !== null ? at.port : 0)
    })
  })
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    brought,
    refused: () => complaints.length,
    complaints,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
