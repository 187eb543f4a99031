import type { AddressInfo } from 'node:net';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';

/**
 * What the server does with a mail.
 * - take: as it should
 * - later, never: it refuses the recipient, for now or for good; `never` also the sender
 * - unfinished: it takes the content, and ends the connection without an answer
 * - mute: it takes the content, and never answers
 */
export type MailFault = 'take' | 'later' | 'never' | 'unfinished' | 'mute';

export interface ReceivedMail {
  to: string;
  raw: string;
  parsed: ParsedMail;
}

export interface MailServer {
  /** smtp://127.0.0.1:… */
  url: string;
  /** Every mail whose content arrived, confirmed or not. */
  mails: ReceivedMail[];
  /** How often each address was named as a recipient. */
  asked: string[];
  /** What happens to mails to this address, or from it, from now on. */
  fault(to: string, fault: MailFault): void;
  close(): Promise<void>;
}

/** A real SMTP server on this machine, with faults by recipient. */
export async function startMailServer(): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const asked: string[] = [];
  const faults = new Map<string, MailFault>();
  const refusal = (code: number, text: string) => Object.assign(new Error(text), { responseCode: code });
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    closeTimeout: 100,
    onMailFrom({ address }, _, done) {
      if (faults.get(address) === 'never') return done(refusal(550, 'no such sender'));
      done();
    },
    onRcptTo({ address }, _, done) {
      asked.push(address);
      const fault = faults.get(address);
      if (fault === 'later') return done(refusal(451, 'try later'));
      if (fault === 'never') return done(refusal(550, 'no such mailbox'));
      done();
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', async () => {
        const raw = Buffer.concat(chunks).toString('utf8');
        const to = session.envelope.rcptTo[0]!.address;
        mails.push({ to, raw, parsed: await simpleParser(raw) });
        const fault = faults.get(to);
        if (fault === 'mute') return;
        if (fault === 'unfinished') {
          const { connections } = server as unknown as {
            connections: Set<{ id: string; _socket: { destroy(): void } }>;
          };
          for (const one of connections) if (one.id === session.id) one._socket.destroy();
          return;
        }
        done();
      });
    },
  });
  // Workers are killed in the middle of it.
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    mails,
    asked,
    fault: (to, fault) => void faults.set(to, fault),
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
