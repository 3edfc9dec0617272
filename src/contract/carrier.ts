// The mailer port: what the runtime itself sends, where it has a transport of its own beside fetch.

/**
 * Port: the counterpart of `takeHanded`. The runtime makes the bytes out of what it is given, in a form that its adapter knows, and names
 * them; its errors are thrown as they are.
 */
export interface Mailer {
  /** Of one parcel, as it travels. */
  readonly maxBytes: number
  send(parcel: object): Promise<{ readonly messageId: string }>
}
