// The buttons of passkeys, on the page where people sign in and on that of their passkeys. Browsers run this file as it is.

const problem = document.querySelector('[data-passkey-problem]');

/** Asks for what the browser signs, or sends what it has signed. */
async function ask(path, body) {
  const sent = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(`/api/auth/passkey/${path}`, body === undefined ? {} : sent);
  if (answer.ok) return answer.json();
  const { code, message } = await answer.json().catch(() => ({}));
  if (code === 'SESSION_NOT_FRESH') throw new Error('You signed in more than a day ago. Sign out and in again first.');
  throw new Error(message || `The server answered ${answer.status}.`);
}

const actions = {
  async enter() {
    const options = await ask('generate-authenticate-options');
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON({ ...options, userVerification: 'required' });
    const credential = await navigator.credentials.get({ publicKey });
    await ask('verify-authentication', { response: credential.toJSON() });
  },
  async add() {
    const name = document.querySelector('#name').value.trim().slice(0, 100) || 'Passkey';
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(await ask('generate-register-options'));
    const credential = await navigator.credentials.create({ publicKey });
    await ask('verify-registration', { response: credential.toJSON(), name });
  },
};

function show(error) {
  // The person closed the browser's dialog, or it found no passkey.
  problem.textContent = error.name === 'NotAllowedError' ? 'No passkey was used.' : error.message;
  problem.hidden = false;
}

for (const button of document.querySelectorAll('button[data-passkey]')) {
  if (!globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON) break;
  button.hidden = false;
  button.addEventListener('click', async () => {
    problem.hidden = true;
    button.disabled = true;
    try {
      await actions[button.dataset.passkey]();
      location.assign(button.dataset.next);
    } catch (error) {
      show(error);
      button.disabled = false;
    }
  });
}
