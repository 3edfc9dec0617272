// An S3-compatible server nobody here wrote, in a process of its own. It checks every signature.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AwsClient } from 'aws4fetch'
import { loadPeer, type Peer, provePeer } from '../peer.ts'
import type { Account, SignerModule } from './amazon-signer.ts'

export type S3Server = {
  readonly endpoint: string
  readonly bucket: string
  readonly account: Account
  /** Keys of all objects, as the server lists them. */
  readonly keys: () => Promise<readonly string[]>
  readonly close: () => Promise<void>
}

export type S3Peers = { readonly server: string; readonly signer: SignerModule }

const loaded = loadPeer<S3Peers>('@20minutes/s3rver', (require) => ({
  server: require.resolve('@20minutes/s3rver'),
  signer: require('@smithy/signature-v4') as SignerModule,
}))

const bucket = 'agent-files'
/** The one account that the server knows. */
const account: Account = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER', region: 'eu-central-1' }

const program = `
  const S3rver = require(process.argv[1])
  const server = new S3rver({
    address: '127.0.0.1', port: 0, silent: true, directory: process.argv[2], configureBuckets: [{ name: '${bucket}' }],
  })
  server.run().then(({ port }) => process.send(port))
`

/** It has stored one object and lists it. */
export const s3Peers: Peer<S3Peers> = await provePeer('@20minutes/s3rver', loaded, async (peers) => {
  const server = await startS3Server(peers)
  try {
    const client = new AwsClient({ ...account, service: 's3' })
    const stored = await client.fetch(`${server.endpoint}/${bucket}/smoke`, { method: 'PUT', body: 'x' })
    if (!(await server.keys()).includes('smoke')) throw new Error(`it answered ${stored.status} and stored nothing`)
  } finally {
    await server.close()
  }
})

export async function startS3Server({ server }: S3Peers): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-s3-'))
  const child = spawn(process.execPath, ['--eval', program, server, folder], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const endpoint = `http://127.0.0.1:${await portOf(child)}`
  return {
    endpoint,
    bucket,
    account,
    keys: () => keysAt(endpoint),
    close: async () => {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill()
      await gone
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('message', (port) => resolve(Number(port)))
    child.once('exit', (code) => reject(new Error(`the S3 server ended with ${code}`)))
  })
}

async function keysAt(endpoint: string): Promise<readonly string[]> {
  const client = new AwsClient({ ...account, service: 's3' })
  const listing = await (await client.fetch(`${endpoint}/${bucket}?list-type=2`)).text()
  if (!listing.includes('<ListBucketResult')) throw new Error('the server lists nothing')
  return [...listing.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key ?? '')
}
