// One signed request to an S3 bucket.

export type S3Call = {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly key: string
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer>
}

export type S3Client = (call: S3Call) => Promise<Response>
