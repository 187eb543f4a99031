/** Requests for speech and transcriptions, as any HTTP client sends them. */
export function voiceClient(api: string, key: string) {
  const send = (path: string, init: RequestInit & { headers?: Record<string, string> }) =>
    fetch(new URL(path, api), {
      ...init,
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, ...init.headers },
    });
  return {
    speak: (body: unknown, headers: Record<string, string> = {}) =>
      send('/api/voice/tts', {
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    transcribe: (form: FormData, headers: Record<string, string> = {}) =>
      send('/api/voice/stt', { headers, body: form }),
    send,
  };
}

export type VoiceClient = ReturnType<typeof voiceClient>;

/** A form with a file. */
export function formOf(
  bytes: Uint8Array,
  { as = 'audio', named = 'speech.mp3', ...fields }: { as?: string; named?: string } & Record<string, string> = {},
): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.append(as, new Blob([new Uint8Array(bytes)]), named);
  return form;
}

/** A WAV file of silence: 8,000 bytes a second. */
export function silence(seconds: number): Buffer {
  const head = Buffer.alloc(44);
  const samples = Math.round(seconds * 8_000);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + samples, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(8_000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples, 40);
  return Buffer.concat([head, Buffer.alloc(samples, 0x80)]);
}
